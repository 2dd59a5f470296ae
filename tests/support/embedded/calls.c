/* Calls of a package at the samples of a motion: results, instructions, stack; on a board or, with HOST, here. */
#include "calls.h"

#include <string.h>

#ifdef HOST
#include <stdio.h>
static void board_print(const char *text) { fputs(text, stdout); }
static unsigned board_ticks(void) { return 0; }
static void board_stack_fill(void) {}
static unsigned board_stack_used(void) { return 0; }
#else
#include "board.h"
#endif

#define MOST (DRIVES > POSE ? DRIVES : POSE)

static NAME(kinematics_f) kinematics;
static NAME(controller_f) law;

static int none(int k, float *out)
{
    (void)k, (void)out;
    return 0;
}

static int inverse(int k, float *out)
{
    return NAME(inverse_f)(&kinematics, x[k], out);
}

static int forward(int k, float *out)
{
    return NAME(forward_f)(&kinematics, q[k], out);
}

static int dynamics(int k, float *out)
{
    DYNAMICS(float, _f, x[k], y[k], v[k], a[k], out);
    return 0;
}

static int controller(int k, float *out)
{
    return NAME(controller_step_f)(&law, q[k], x[k], v[k], a[k], out);
}

static const struct {
    const char *name;
    int (*call)(int k, float *out);
    int size;
} tasks[] = {
    {"none", none, 0},
    {"inverse", inverse, DRIVES},
    {"forward", forward, POSE},
    {"dynamics", dynamics, DRIVES},
    {"controller", controller, DRIVES},
};

/* A word in hexadecimal and a blank behind a text. */
static char *hex(char *to, unsigned word)
{
    for (int shift = 28; shift >= 0; shift -= 4) {
        *to++ = "0123456789abcdef"[(word >> shift) & 15U];
    }
    *to++ = ' ';
    *to = 0;
    return to;
}

static char *word(char *to, const char *text)
{
    while (*text != 0) {
        *to++ = *text++;
    }
    *to++ = ' ';
    return to;
}

static void line(const char *what, const char *name, int count, const unsigned *words)
{
    char text[200];
    char *to = (what != NULL) ? word(text, what) : text;
    to = word(to, name);
    for (int i = 0; i < count; ++i) {
        to = hex(to, words[i]);
    }
    to[-1] = '\n';
    board_print(text);
}

static void reset(void)
{
    NAME(kinematics_reset_f)(&kinematics);
    NAME(controller_reset_f)(&law, x[0]);
}

int main(void)
{
    for (unsigned task = 0; task < sizeof tasks / sizeof tasks[0]; ++task) {
        float out[MOST];
        unsigned row[1 + MOST];
        reset();
        for (int k = 0; task > 0 && k < SAMPLES; ++k) {
            row[0] = (unsigned)tasks[task].call(k, out);
            memcpy(row + 1, out, sizeof out);
            line(NULL, tasks[task].name, 1 + tasks[task].size, row);
        }
        reset();
        const unsigned start = board_ticks();
        for (int k = 0; k < SAMPLES; ++k) {
            tasks[task].call(k, out);
        }
        unsigned counts[3] = {board_ticks() - start, 0, 0};
        reset();
        for (int k = 0; k < SAMPLES; ++k) {
            const unsigned begin = board_ticks();
            tasks[task].call(k, out);
            const unsigned taken = board_ticks() - begin;
            counts[1] = taken > counts[1] ? taken : counts[1];
        }
        const unsigned begin = board_ticks();
        none(0, out);
        counts[2] = board_ticks() - begin;
        line("count", tasks[task].name, 3, counts);
        reset();
        unsigned used;
        board_stack_fill();
        for (int k = 0; k < SAMPLES; ++k) {
            tasks[task].call(k, out);
        }
        used = board_stack_used();
        line("stack", tasks[task].name, 1, &used);
    }
    return 0;
}
