/* What LinuxCNC's kinematics modules need of HAL: pins in a table, by their names; a module sets its defaults. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PINS 256

typedef union {
    double real;
    int whole;
    unsigned count;
    volatile unsigned char bit;
} cell;

typedef struct {
    char name[64];
    cell value;
} pin;

static pin pins[PINS];
static int pin_count;

static int add_pin(void **address, const char *format, va_list rest)
{
    if (pin_count == PINS) {
        return -1;
    }
    pin *p = &pins[pin_count++];
    vsnprintf(p->name, sizeof p->name, format, rest);
    *address = &p->value;
    return 0;
}

#define NEW_PIN(function)                                                          \
    int function(int direction, void **address, int component, const char *format, ...) \
    {                                                                              \
        va_list rest;                                                              \
        (void)direction;                                                           \
        (void)component;                                                           \
        va_start(rest, format);                                                    \
        const int status = add_pin(address, format, rest);                         \
        va_end(rest);                                                              \
        return status;                                                             \
    }

NEW_PIN(hal_pin_float_newf)
NEW_PIN(hal_pin_bit_newf)
NEW_PIN(hal_pin_u32_newf)

int hal_pin_bit_new(const char *name, int direction, void **address, int component)
{
    return hal_pin_bit_newf(direction, address, component, "%s", name);
}

int hal_pin_s32_new(const char *name, int direction, void **address, int component)
{
    return hal_pin_bit_newf(direction, address, component, "%s", name);
}

void *hal_malloc(long size)
{
    return calloc(1, (size_t)size);
}

int hal_init(const char *name)
{
    (void)name;
    return 1;
}

int hal_ready(int component)
{
    (void)component;
    return 0;
}

int hal_exit(int component)
{
    (void)component;
    return 0;
}

void rtapi_print(const char *format, ...)
{
    (void)format;
}

void rtapi_print_msg(int level, const char *format, ...)
{
    (void)level;
    (void)format;
}

/* The value of a pin; NULL if there is none of that name. */
const void *pin_value(const char *name)
{
    for (int i = 0; i < pin_count; ++i) {
        if (strcmp(pins[i].name, name) == 0) {
            return &pins[i].value;
        }
    }
    return NULL;
}

/* For another module, or the same one again. */
void forget_pins(void)
{
    memset(pins, 0, sizeof pins);
    pin_count = 0;
}
