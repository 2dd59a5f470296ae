/* Forward and inverse kinematics and inverse dynamics of a Delta on a board: a step of each, printed in um and mN m. */
#include "board.h"
#include "delta.h"

#include <stdio.h>

int main(void)
{
    static delta_kinematics_f k;
    const float q[DELTA_DRIVES] = {0.3f, 0.4f, 0.5f}; /* rad */
    const float v[DELTA_POSE] = {0.0f, 0.1f, 0.0f};   /* m/s */
    const float a[DELTA_POSE] = {0.0f, 0.0f, 1.0f};   /* m/s^2 */
    float x[DELTA_POSE];
    float back[DELTA_DRIVES];
    float torque[DELTA_DRIVES];
    float pivot;
    float margins[DELTA_INVERSE_DYNAMICS_MARGINS_SIZE];
    delta_kinematics_reset_f(&k);
    const unsigned start = board_ticks();
    const int status = delta_forward_f(&k, q, x);
    const unsigned taken = board_ticks() - start;
    if (status != DELTA_KINEMATICS_OK || delta_inverse_f(&k, x, back) != DELTA_KINEMATICS_OK) {
        return 1;
    }
    delta_inverse_dynamics_f(x, v, a, torque, &pivot, margins);
    for (int i = 0; i < DELTA_DRIVES; ++i) {
        /* printf of newlib takes doubles, slow here: whole numbers instead. */
        printf("q %d mrad, x %d um, torque %d mN m\n", (int)(1e3f * back[i] + 0.5f), (int)(1e6f * x[i]),
            (int)(1e3f * torque[i]));
    }
    printf("forward kinematics: %u instructions\n", taken * 5 / 8);
    return 0;
}
