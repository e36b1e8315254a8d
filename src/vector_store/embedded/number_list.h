/* Numbers of rows under their keys, gathered in any order and pushed into an image. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vector_store/embedded/image.h"

struct listed_number {
    uint32_t key;
    uint16_t row;
    double value;
};

struct number_list {
    struct listed_number *items;
    size_t count, capacity;
};

void number_list_add(struct number_list *list, uint32_t key, double value, uint16_t row);
/* Sorts the list; a row that has a value twice has it once then. */
void number_list_push(struct number_list *list, struct image *image);
void number_list_release(struct number_list *list);
