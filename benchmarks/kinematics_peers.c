/* Loops that time LinuxCNC's kinematics modules and the exported C in turn.
 *
 * A pose of LinuxCNC is nine doubles: x, y, z, a, b, c, u, v, w.
 */
#define _POSIX_C_SOURCE 199309L
#include ROBOT_HEADER

#include "hal_pins.h"

#include <time.h>

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
