"""Control that looks at the legs: loops with a camera on robots that are not their models."""
