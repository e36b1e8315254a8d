#include "vector_store/filter_match.h"

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->type != b->type)
        return false;
    return a->type == VALUE_STRING ? str_equal(a->string, b->string) : a->number == b->number;
}

static int compare_values(const struct value *a, const struct value *b)
{
    if (a->type == VALUE_STRING)
        return str_compare(a->string, b->string);
    return (a->number > b->number) - (a->number < b->number);
}

static bool among_operands(const struct filter *leaf, const struct value *value)
{
    for (size_t i = 0; i < leaf->value_count; i++)
        if (value_equal(&leaf->values[i], value))
            return true;
    return false;
}

static bool has_substring(struct str text, struct str part)
{
    return part.size == 0 || (text.size >= part.size && memmem(text.data, text.size, part.data, part.size));
}

bool filter_value_matches(const struct filter *leaf, const struct filter_key *key, const struct value *value)
{
    const struct value *operand = &leaf->values[0];
    if (leaf->op == FILTER_IN || leaf->op == FILTER_ALL || leaf->op == FILTER_EQ)
        return among_operands(leaf, value);
    if (operand->type != value->type)
        return false;
    switch (leaf->op) {
    case FILTER_CONTAINS:
        return value->type == VALUE_STRING && !key->multiple ? has_substring(value->string, operand->string)
                                                             : value_equal(value, operand);
    case FILTER_LT:
        return compare_values(value, operand) < 0;
    case FILTER_LTE:
        return compare_values(value, operand) <= 0;
    case FILTER_GT:
        return compare_values(value, operand) > 0;
    case FILTER_GTE:
        return compare_values(value, operand) >= 0;
    default:
        BUG("filter operator %d is none of a comparison", leaf->op);
    }
}

static bool has_value(const struct attribute *attributes, size_t count, uint32_t key,
                      const struct value *value)
{
    for (size_t i = 0; i < count; i++)
        if (attributes[i].key == key && value_equal(&attributes[i].value, value))
            return true;
    return false;
}

bool filter_leaf_matches(const struct filter *leaf, const struct filter_key *key,
                         const struct attribute *attributes, size_t count)
{
    const uint32_t position = (uint32_t)(key - filter_keys);
    if (leaf->op == FILTER_ALL) {
        for (size_t i = 0; i < leaf->value_count; i++)
            if (!has_value(attributes, count, position, &leaf->values[i]))
                return false;
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (attributes[i].key == position && filter_value_matches(leaf, key, &attributes[i].value))
            return true;
    return false;
}
