/*
 * States in, as rows of floats x, v, a; out for each a row of doubles: four statuses in double, four in float,
 * the largest error of each task relative to the largest entry of its result, and the actuators' Jacobian.
 */
#include "calls.h"

#include <math.h>
#include <stdio.h>

enum { ROW = POSE + 2 * TWIST, WIDTH = DRIVES > POSE ? DRIVES : POSE };

/* The largest difference relative to the largest number. */
static double error_of(const float *found, const double *exact, int count)
{
    double most = 0.0;
    double scale = 0.0;
    for (int i = 0; i < count; ++i) {
        const double error = fabs((double)found[i] - exact[i]);
        most = (error <= most) ? most : error;
        scale = fmax(scale, fabs(exact[i]));
    }
    return most / scale;
}

/* All tasks in a precision, from the reference pose and from rest at x; starts of forward kinematics are q_in. */
#define RUN(real, end, kinematics_s, controller_s)                                                       \
    static void run##end(const real *x, const real *v, const real *a, const real *q_in, double *status,   \
        real (*out)[WIDTH], kinematics_s *s)                                                               \
    {                                                                                                      \
        controller_s c;                                                                                    \
        kinematics_s t;                                                                                    \
        NAME(kinematics_reset##end)(&t);                                                                   \
        status[1] = NAME(forward##end)(&t, q_in, out[1]);                                                  \
        NAME(kinematics_reset##end)(s);                                                                    \
        status[0] = NAME(inverse##end)(s, x, out[0]);                                                      \
        DYNAMICS(real, end, x, s->y, v, a, out[2]);                                                         \
        status[2] = status[0];                                                                             \
        status[3] = NAME(controller_reset##end)(&c, x);                                                    \
        if (status[3] == 0) {                                                                              \
            status[3] = NAME(controller_step##end)(&c, q_in, x, v, a, out[3]);                              \
        }                                                                                                  \
    }

RUN(double, , NAME(kinematics), NAME(controller))
RUN(float, _f, NAME(kinematics_f), NAME(controller_f))

int main(void)
{
    static const int sizes[4] = {DRIVES, POSE, DRIVES, DRIVES};
    float in[ROW];
    while (fread(in, sizeof in, 1, stdin) == 1) {
        double row[12 + DRIVES * TWIST] = {0};
        double exact_in[ROW];
        double exact[4][WIDTH] = {{0}};
        float found[4][WIDTH] = {{0}};
        double q[DRIVES];
        float q_f[DRIVES];
        NAME(kinematics) s;
        NAME(kinematics_f) s_f;
        for (int i = 0; i < ROW; ++i) {
            exact_in[i] = (double)in[i];
        }
        NAME(kinematics_reset)(&s);
        NAME(inverse)(&s, exact_in, q);
        for (int i = 0; i < DRIVES; ++i) {
            q_f[i] = (float)q[i];
            q[i] = (double)q_f[i];
        }
        run(exact_in, exact_in + POSE, exact_in + POSE + TWIST, q, row, exact, &s);
        run_f(in, in + POSE, in + POSE + TWIST, q_f, row + 4, found, &s_f);
        for (int k = 0; k < 4; ++k) {
            row[8 + k] = error_of(found[k], exact[k], sizes[k]);
        }
        for (int j = 0; j < TWIST; ++j) {
            double v[TWIST] = {0};
            double rates[DRIVES];
            v[j] = 1.0;
            NAME(rates)(&s, v, rates);
            for (int i = 0; i < DRIVES; ++i) {
                row[12 + i * TWIST + j] = rates[i];
            }
        }
        fwrite(row, sizeof row, 1, stdout);
    }
    return 0;
}
