"""A kinematics module without LinuxCNC: its text behind a prologue like halcompile's, as a shared library."""

from __future__ import annotations

import ctypes
import re
from typing import Any

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
_TYPES = {"bit": ctypes.c_bool, "s32": ctypes.c_int32, "u32": ctypes.c_uint32, "float": ctypes.c_double}


def _field(name: str) -> str:
    """What halcompile calls a pin in C."""
    return re.sub("_+", "_", re.sub("[.-]", "_", name))


class ModuleStub:
    """A module that is loaded, with its pins."""

    def __init__(self, component: str, joints: int) -> None:
        """Compile it."""
        head, _, body = component.partition("\n;;\n")
        pins = re.findall(r"^pin (?:in|out) (\w+) ([\w.-]+)", head, re.M)
        params = re.findall(r"^param rw (\w+) ([\w.-]+) = (\S+)", head, re.M)
        fields, start, values, pointers = "", "", "", ""
        for kind, name in pins:
            fields += f"    hal_{kind}_t *{_field(name)};\n"
            values += f"hal_{kind}_t value_{_field(name)};\n"
            start += f"    .{_field(name)} = &value_{_field(name)},\n"
            pointers += f"volatile void *at_{_field(name)} = &value_{_field(name)};\n"
        for kind, name, value in params:
            fields += f"    hal_{kind}_t {_field(name)};\n"
            start += f"    .{_field(name)} = {value},\n"
            pointers += f"volatile void *at_{_field(name)} = &instance.{_field(name)};\n"
        prologue = f"{_PROLOGUE}struct __comp_state {{\n{fields}}};\n{values}"
        prologue += f"static struct __comp_state instance = {{\n{start}}};\n{pointers}"
        files = {"kinematics.h": _KINEMATICS, "rtapi_math.h": "", "module.c": prologue + body + _EPILOGUE}
        self.library = compile_shared(files, COMPILERS[0], FLAGS)
        self.joints = joints
        self._kinds = {name: kind for kind, name, *_ in (*pins, *params)}
        assert self.library.start() == 0

    def _variable(self, name: str) -> Any:
        address = ctypes.c_void_p.in_dll(self.library, f"at_{_field(name)}").value
        return _TYPES[self._kinds[name]].from_address(address)

    def get(self, name: str) -> float:
        """The value of a pin or a parameter."""
        return float(self._variable(name).value)

    def set(self, name: str, value: float) -> None:
        """Change it."""
        self._variable(name).value = value

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
