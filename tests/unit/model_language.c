#include "tests/test.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "model/language.h"

static void tells_running_text(void **state)
{
    static const struct {
        const char *language, *text;
    } cases[] = {
        {"en",
         "The permission filter is built before the first score, so that nothing outside it can be counted."},
        {"de", "Der Filter der Berechtigungen wird gebaut, bevor das erste Ergebnis bewertet werden kann."},
        {"es",
         "El filtro de permisos se construye antes de la primera puntuación, de modo que nada se escapa."},
        {"fr", "Le filtre des droits est construit avant le premier score, de sorte que rien ne s'échappe."},
        {"ru", "Фильтр прав строится до первой оценки, чтобы ничего лишнего нельзя было посчитать."},
        {"ar", "يتم إنشاء مرشح الأذونات قبل أول نتيجة حتى لا يمكن احتساب أي شيء خارجها."},
        {"zh", "权限过滤器在第一次评分之前建立，因此其外的任何内容都不会被计算。"},
        {"ja", "権限フィルターは最初のスコアの前に作られるので、その外のものは数えられません。"},
        {"ko", "권한 필터는 첫 번째 점수 전에 만들어지므로 그 밖의 것은 셀 수 없습니다."},
        {"he", "מסנן ההרשאות נבנה לפני הציון הראשון, כך ששום דבר מחוצה לו לא ייספר."},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(language_detect(str_from(cases[i].text)), cases[i].language);
}

static void tells_words_by_their_script(void **state)
{
    static const struct {
        const char *language, *text;
    } cases[] = {
        {"zh", "黑豹队"},  {"ja", "東京タワー"}, {"ko", "서울"},
        {"ru", "Пэнтерс"}, {"ar", "البانثرز"},   {"el", "λόγος"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(language_detect(str_from(cases[i].text)), cases[i].language);
}

static void is_silent_without_a_language(void **state)
{
    assert_string_equal(language_detect(STR_EMPTY), "");
    assert_string_equal(language_detect((struct str){NULL, 0}), "");
    assert_string_equal(language_detect(STR("42 — 17.5 %")), "");
    assert_string_equal(language_detect(STR("xk7")), "");
}

static void reads_the_beginning_of_long_text(void **state)
{
    static const char sentence[] = "Nothing outside the filter can be scored, counted, cached or explained. ";
    AUTO_BUFFER text = BUFFER(10 * 1024 * 1024);
    buffer_append_string(&text, "€"); /* the sample ends within a character */
    while (text.size < 4 * 1024 * 1024)
        buffer_append_string(&text, sentence);
    assert_string_equal(language_detect(buffer_str(&text)), "en");
    assert_string_equal(language_detect(str_slice(buffer_str(&text), 1, 200)), "en");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_running_text),
        cmocka_unit_test(tells_words_by_their_script),
        cmocka_unit_test(is_silent_without_a_language),
        cmocka_unit_test(reads_the_beginning_of_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
