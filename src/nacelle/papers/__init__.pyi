from nacelle.papers.elements.project import (
    ElementProjection as ElementProjection,
    SeenVariable as SeenVariable,
    project_elements as project_elements,
)
from nacelle.papers.elements.state import ElementState as ElementState, element_state as element_state
from nacelle.papers.registration import NAMES

FORMULATIONS = NAMES
