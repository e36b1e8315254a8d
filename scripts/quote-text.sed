# Makes a C string literal of a text file: meson runs it over what is built into the program.
s/\\/\\\\/g
s/"/\\"/g
s/.*/"&\\n"/
