"""What is drawn of a robot in space: geometry of its bodies, their motion, arrows, figures of pages."""
