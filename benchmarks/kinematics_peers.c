/* What LinuxCNC's kinematics modules need of HAL, and loops that time them and the exported C in turn.
 *
 * Pins lie in a table, by their names; the module sets its defaults. A pose of LinuxCNC is nine doubles:
 * x, y, z, a, b, c, u, v, w.
 */
#define _POSIX_C_SOURCE 199309L
#include ROBOT_HEADER

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* ---- loops over n calls; they give seconds */

typedef int (*peer_forward)(const double *joints, double *pose, const unsigned long *, unsigned long *);
typedef int (*peer_inverse)(const double *pose, double *joints, const unsigned long *, unsigned long *);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each call starts from the pose that the last good one has left in `last` (9). */
double run_peer_forward(peer_forward call, int n, int m, const double *q, double *last, double *poses,
                        int *status)
{
    unsigned long flags[2] = {0, 0};
    const double start = now();
    for (int k = 0; k < n; ++k) {
        status[k] = call(q + k * m, last, &flags[0], &flags[1]);
        memcpy(poses + k * 9, last, 9 * sizeof *last);
    }
    return now() - start;
}

double run_peer_inverse(peer_inverse call, int n, int m, const double *poses, double *q, int *status)
{
    unsigned long flags[2] = {0, 0};
    double joints[16];
    const double start = now();
    for (int k = 0; k < n; ++k) {
        status[k] = call(poses + k * 9, joints, &flags[0], &flags[1]);
        memcpy(q + k * m, joints, (size_t)m * sizeof *q);
    }
    return now() - start;
}

static ROBOT_STRUCT state;

void reset(void)
{
    ROBOT_RESET(&state);
}

double run_forward(int n, const double *q, double *x, int *status, int *count)
{
    const double start = now();
    for (int k = 0; k < n; ++k) {
        status[k] = ROBOT_FORWARD(&state, q + k * ROBOT_DRIVES, x + k * ROBOT_POSE);
        count[k] = state.count;
    }
    return now() - start;
}

double run_inverse(int n, const double *x, double *q, int *status)
{
    const double start = now();
    for (int k = 0; k < n; ++k) {
        status[k] = ROBOT_INVERSE(&state, x + k * ROBOT_POSE, q + k * ROBOT_DRIVES);
    }
    return now() - start;
}
