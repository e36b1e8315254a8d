/* Signs that Word draws from symbol fonts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the character that a sign stands for to `out` as UTF-8; returns its size, 0 when it means
 * nothing outside its font. `greek`: the font is "Symbol". */
size_t docx_symbol_decode(bool greek, uint32_t code, char out[4]);
