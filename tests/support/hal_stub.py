"""A kinematics module without LinuxCNC: its text behind a prologue like halcompile's, as a shared library."""

from __future__ import annotations

import ctypes
import re

import numpy as np

from support.cc import COMPILERS, compile_shared

_KINEMATICS = """\
typedef struct { double x, y, z; } PmCartesian;
typedef struct EmcPose { PmCartesian tran; double a, b, c, u, v, w; } EmcPose;
typedef enum { KINEMATICS_BOTH = 4 } KINEMATICS_TYPE;
typedef unsigned long KINEMATICS_FORWARD_FLAGS;
typedef unsigned long KINEMATICS_INVERSE_FLAGS;
"""
_PROLOGUE = """\
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
typedef volatile bool hal_bit_t;
typedef volatile int32_t hal_s32_t;
typedef volatile uint32_t hal_u32_t;
typedef volatile double hal_float_t;
enum { RTAPI_MSG_ERR };
#define rtapi_print_msg(level, ...) printf(__VA_ARGS__)
#define RTAPI_MP_STRING(name, text) extern char *name
#define RTAPI_MP_INT(name, text) extern int name
#define EXPORT_SYMBOL(name) extern void *unused_##name
"""
_EPILOGUE = """\
int start(void);
int start(void)
{
    int (*all[])(struct __comp_state *, char *, long) = {extra_setup};
    (void)extra_cleanup;
    return all[0](&instance, 0, 0);
}
"""
FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-O0", "-fno-math-errno")


class ModuleStub:
    """A module that is loaded, with its pins."""

    def __init__(self, component: str, joints: int) -> None:
        """Compile it."""
        head, _, body = component.partition("\n;;\n")
        pins = re.findall(r"^pin (?:in|out) (\w+) ([\w.-]+)", head, re.M)
        params = re.findall(r"^param rw (\w+) ([\w.-]+)", head, re.M)
        fields, values, places = "", "", ""
        for kind, name in pins:
            field = re.sub(r"[.-]", "_", name)
            fields += f"    hal_{kind}_t *{field};\n"
            values += f"hal_{kind}_t pin_{field};\n"
            places += f"    .{field} = &pin_{field},\n"
        fields += "".join(f"    hal_{kind}_t {re.sub('[.-]', '_', name)};\n" for kind, name in params)
        prologue = f"{_PROLOGUE}struct __comp_state {{\n{fields}}};\n{values}"
        prologue += f"static struct __comp_state instance = {{\n{places}}};\n"
        files = {"kinematics.h": _KINEMATICS, "rtapi_math.h": "", "module.c": prologue + body + _EPILOGUE}
        self.library = compile_shared(files, COMPILERS[0], FLAGS)
        self.joints = joints
        self._kinds = {name: kind for kind, name in pins}
        assert self.library.start() == 0

    def pin(self, name: str) -> float:
        """The value of a pin."""
        kind = {"bit": ctypes.c_bool, "s32": ctypes.c_int32, "u32": ctypes.c_uint32, "float": ctypes.c_double}
        return kind[self._kinds[name]].in_dll(self.library, "pin_" + re.sub("[.-]", "_", name)).value

    def inverse(self, axes: np.ndarray, joints: np.ndarray) -> tuple[int, np.ndarray]:
        """What the inverse kinematics returns, and the joints."""
        pose, result = (ctypes.c_double * 9)(*axes), (ctypes.c_double * self.joints)(*joints)
        code = self.library.kinematicsInverse(pose, result, None, None)
        return code, np.array(result)

    def forward(self, joints: np.ndarray, axes: np.ndarray) -> tuple[int, np.ndarray]:
        """What the forward kinematics returns, and the axes X Y Z A B C U V W."""
        pose, values = (ctypes.c_double * 9)(*axes), (ctypes.c_double * self.joints)(*joints)
        code = self.library.kinematicsForward(values, pose, None, None)
        return code, np.array(pose)
