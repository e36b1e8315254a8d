#include "model/language.h"

#include <cstdio> // compact_lang_det.h names FILE

#include <cld2/public/compact_lang_det.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

namespace
{

struct script_language {
    UScriptCode script;
    const char *language;
};

// The language that most texts in a script are in.
const script_language scripts[] = {
    {USCRIPT_HAN, "zh"},      {USCRIPT_HIRAGANA, "ja"},   {USCRIPT_KATAKANA, "ja"}, {USCRIPT_HANGUL, "ko"},
    {USCRIPT_CYRILLIC, "ru"}, {USCRIPT_ARABIC, "ar"},     {USCRIPT_GREEK, "el"},    {USCRIPT_HEBREW, "he"},
    {USCRIPT_THAI, "th"},     {USCRIPT_DEVANAGARI, "hi"}, {USCRIPT_BENGALI, "bn"},  {USCRIPT_TAMIL, "ta"},
    {USCRIPT_TELUGU, "te"},   {USCRIPT_GEORGIAN, "ka"},   {USCRIPT_ARMENIAN, "hy"}, {USCRIPT_KHMER, "km"},
    {USCRIPT_LAO, "lo"},      {USCRIPT_MYANMAR, "my"},    {USCRIPT_SINHALA, "si"},  {USCRIPT_ETHIOPIC, "am"},
    {USCRIPT_GUJARATI, "gu"}, {USCRIPT_GURMUKHI, "pa"},   {USCRIPT_KANNADA, "kn"},  {USCRIPT_MALAYALAM, "ml"},
};
constexpr size_t script_count = sizeof scripts / sizeof *scripts;
constexpr size_t running_text = 256; // bytes
constexpr size_t han = 0, hiragana = 1, katakana = 2;

const char *detect_by_script(struct str text)
{
    size_t counts[script_count] = {0}, letters = 0;
    int32_t at = 0, size = static_cast<int32_t>(text.size);
    while (at < size) {
        UChar32 code_point;
        U8_NEXT(text.data, at, size, code_point);
        if (code_point < 0 || !u_isalpha(code_point))
            continue;
        letters++;
        UErrorCode status = U_ZERO_ERROR;
        UScriptCode script = uscript_getScript(code_point, &status);
        for (size_t i = 0; i < script_count; i++)
            counts[i] += scripts[i].script == script;
    }
    // Japanese is written in Han with Kana in between.
    if (counts[hiragana] + counts[katakana] > 0) {
        counts[hiragana] += counts[katakana] + counts[han];
        counts[han] = 0;
    }
    for (size_t i = 0; i < script_count; i++)
        if (counts[i] * 2 > letters)
            return scripts[i].language;
    return "";
}

// What CLD2 calls by older or longer names.
const char *standard_code(CLD2::Language language)
{
    switch (language) {
    case CLD2::UNKNOWN_LANGUAGE:
    case CLD2::TG_UNKNOWN_LANGUAGE:
        return "";
    case CLD2::CHINESE_T:
        return "zh";
    case CLD2::HEBREW:
        return "he";
    case CLD2::JAVANESE:
        return "jv";
    default:
        const char *code = CLD2::LanguageCode(language);
        for (const char *c = code; *c; c++) // "xxx-...", "zzb", "x_Zyyy": no languages
            if (*c < 'a' || *c > 'z')
                return "";
        return code;
    }
}

} // namespace

const char *language_detect(struct str text)
{
    // A cut in the middle of a character does no harm to either method.
    struct str sample = str_slice(text, 0, LANGUAGE_SAMPLE);
    if (sample.size == 0)
        return "";
    CLD2::Language best[3];
    int percent[3], bytes;
    double score[3];
    bool reliable;
    CLD2::ExtDetectLanguageSummary(sample.data, static_cast<int>(sample.size), true, nullptr, 0, best,
                                   percent, score, nullptr, &bytes, &reliable);
    // What CLD2 calls unreliable is a guess between two languages: in running text the first is mostly right.
    bool usable = percent[0] > 50 && (reliable || sample.size >= running_text);
    const char *code = usable ? standard_code(best[0]) : "";
    return *code ? code : detect_by_script(sample);
}
