"""The command `base`: the base parameters of a robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, console, print_json
from nacelle.cli.identification.options import AssumeOption, SharedOption, sharing
from nacelle.cli.inputs import ModeOption, load_robot
from nacelle.cli.loads import PayloadOption, loaded
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.dynamics.base_parameters.base_parameters import BaseParameters


@command("base")
def base_command(
    robot_name: RobotArgument,
    *,
    assume: AssumeOption = None,
    shared: SharedOption = None,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Base parameters: the fewest numbers that the forces depend on, and what each is a sum of."""
    from nacelle.dynamics.base_parameters.base_parameters import base_parameters

    robot = loaded(load_robot(robot_name, mode), payload)
    with task(f"base parameters of {robot.name}"):
        base = base_parameters(robot, assume=assume or "undescribed", shared=sharing(shared))
    if as_json:
        print_json(base.data())
    else:
        _show(base)


def _show(base: BaseParameters) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(
        f"{base.robot.name}: {len(base)} base parameters of {len(base.choice.names)}: {len(base.rigid)} of "
        f"inertia, rotors and springs, {len(base.friction)} of friction",
        highlight=False,
    )
    table = Table("base parameter", "value")
    for grouping, value in zip(base.groupings, base.values.tolist(), strict=True):
        table.add_row(Text(grouping), f"{value:.6g}")
    out.print(table)
    effects = base.effects
    nothing = [name for name, effect in effects.items() if effect == "no effect"]
    if nothing:
        out.print(Text(f"no effect: {', '.join(nothing)}"))
    if base.choice.assumed:
        out.print(Text(f"assumed to be zero: {', '.join(base.choice.assumed)}"))
    agreement = (
        "which is what the rules of mechanics leave"
        if base.structural == len(base)
        else f"the rules of mechanics leave {base.structural}; without a rule: {', '.join(base.unexplained)}"
    )
    out.print(f"rank {len(base)} over random states, gap {base.gap:.0e}: {agreement}", highlight=False)
    if not base.certain:
        out.print("The rank is in doubt: some parameters can hardly be distinguished.", highlight=False)
