/*
 * A controller at its fixed rate against a robot, in C alone.
 *
 * PaLiDA's platform goes round a circle of 0.2 m that is inclined by 30 degrees about x, with 1 m/s, from rest
 * and back to rest. At every sample of 0.5 ms: read the encoders, take a step of the controller, hold its
 * forces while the robot moves. The controller comes from one package of nacelle, the robot that it moves
 * from another: it is heavier than the controller's model, and has more friction.
 *
 *   ./loop            as fast as it goes
 *   ./loop paced      a sample every 0.5 ms, by the clock
 */
#define _POSIX_C_SOURCE 200112L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine.h"
#include "palida.h"

#define PI 3.141592653589793
#define RADIUS 0.2
#define TILT (PI / 6)
#define SPEED 1.0
#define RAMP 0.25   /* seconds from rest to full speed, and back */
#define ROUNDS 2.0
#define SUBSTEPS 5  /* of the robot's integration in a sample */
#define MOST 20000  /* samples */
#define DRIVES PALIDA_CONTROLLER_LAW_FORCE_SIZE

/* What every step took, for the report. */
static long taken[MOST];

/* Seconds at full speed. */
static double full_time(void)
{
    return 2 * PI * RADIUS * ROUNDS / SPEED - RAMP;
}

/* The way along the circle with its rate and acceleration; over a ramp the speed is 10 u^3 - 15 u^4 + 6 u^5
 * of the full one. */
static void along(double t, double *s, double *ds, double *dds)
{
    const double total = full_time() + 2 * RAMP;
    const int back = t > total / 2;
    const double from_end = back ? fmax(total - t, 0) : t;
    if (from_end < RAMP) {
        const double u = from_end / RAMP;
        *s = SPEED * RAMP * u * u * u * u * (2.5 - 3 * u + u * u);
        *ds = SPEED * u * u * u * (10 - 15 * u + 6 * u * u);
        *dds = SPEED / RAMP * 30 * u * u * (1 - u) * (1 - u);
    } else {
        *s = SPEED * (from_end - RAMP / 2);
        *ds = SPEED;
        *dds = 0;
    }
    if (back) {
        *s = SPEED * (full_time() + RAMP) - *s;
        *dds = -*dds;
    }
}

/* The desired motion: pose (position, quat_xyzw), twist and its derivative. */
static void desired(double t, double *x, double *v, double *a)
{
    double s, ds, dds;
    along(t, &s, &ds, &dds);
    const double angle = s / RADIUS, rate = ds / RADIUS, change = dds / RADIUS;
    const double c = RADIUS * cos(angle), w = RADIUS * sin(angle);
    const double plane[3][2] = {
        {c, w},
        {-w * rate, c * rate},
        {-w * change - c * rate * rate, c * change - w * rate * rate},
    };
    double *const rows[3] = {x, v, a};
    for (int k = 0; k < 3; ++k) {
        rows[k][0] = plane[k][0];
        rows[k][1] = plane[k][1] * cos(TILT);
        rows[k][2] = plane[k][1] * sin(TILT);
        for (int j = 3; j < 6; ++j) {
            rows[k][j] = 0;
        }
    }
    x[2] -= 0.7;
    x[6] = 1;
}

static long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int smaller(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words)
{
    const int paced = count > 1 && strcmp(words[1], "paced") == 0;
    const double T = PALIDA_CONTROLLER_PERIOD;
    const int samples = (int)(full_time() / T + 2 * RAMP / T);
    palida_controller c;
    double x[7], v[6], a[6], state[MACHINE_PLANT_STATE_SIZE];
    double q[DRIVES], wanted[DRIVES], force[DRIVES];
    double errors[DRIVES] = {0}, tool = 0, largest = 0;

    desired(0, x, v, a);
    if (palida_controller_reset(&c, x) != 0 || machine_plant_start(x, state) != 0 || samples > MOST) {
        printf("the circle begins out of reach\n");
        return 1;
    }
    long next = nanoseconds(), late = 0;
    for (int k = 0; k < samples; ++k) {
        desired(k * T, x, v, a);
        machine_plant_encoders(state, q);
        const long begin = nanoseconds();
        const int status = palida_controller_step(&c, q, x, v, a, force);
        taken[k] = nanoseconds() - begin;
        if (status != 0) {
            printf("sample %d: the controller returns %d\n", k, status);
            return 1;
        }
        /* For the report: errors of actuators and of the tool at the sample. */
        double at[7], twist[6], off = 0, goal[MACHINE_PLANT_STATE_SIZE];
        machine_plant_pose(state, at, twist);
        machine_plant_state(x, v, goal);
        machine_plant_encoders(goal, wanted);
        for (int j = 0; j < DRIVES; ++j) {
            errors[j] += (wanted[j] - q[j]) * (wanted[j] - q[j]);
            largest = fmax(largest, fabs(force[j]));
        }
        for (int j = 0; j < 3; ++j) {
            off += (x[j] - at[j]) * (x[j] - at[j]);
        }
        tool += off;
        if (machine_plant_rk4(state, force, 0, T / SUBSTEPS, SUBSTEPS, 0, NULL, NULL) != 0) {
            printf("sample %d: the state is not finite\n", k);
            return 1;
        }
        if (paced) {
            next += (long)(T * 1e9);
            late += nanoseconds() > next;
            const struct timespec until = {next / 1000000000L, next % 1000000000L};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
    }
    printf("samples: %d of %g ms, %s", samples, 1e3 * T, paced ? "paced" : "as fast as it goes");
    printf(paced ? ", %ld late\n" : "\n", late);
    printf("actuators, rms error in um:");
    for (int j = 0; j < DRIVES; ++j) {
        printf(" %.1f", 1e6 * sqrt(errors[j] / samples));
    }
    printf("\ntool, rms error in um: %.1f\n", 1e6 * sqrt(tool / samples));
    printf("largest force in N: %.1f\n", largest);
    qsort(taken, (size_t)samples, sizeof taken[0], smaller);
    printf("step in ns: %ld at least, %ld in the median, %ld at most\n", taken[0], taken[samples / 2],
           taken[samples - 1]);
    return 0;
}
