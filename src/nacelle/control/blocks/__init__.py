"""What control laws share, over any scalar."""
