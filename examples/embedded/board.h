/* What startup.c gives to a program. */
#ifndef board_h
#define board_h

/* Print a text. */
void board_print(const char *text);

/* End with a status; main may return instead. */
void board_exit(int status);

/* Ticks of 40 ns since the start; under qemu -icount shift=6 an instruction takes 1.6. */
unsigned board_ticks(void);

/* Fill the free memory below the stack; how many bytes the stack has grown since, at most. */
void board_stack_fill(void);
unsigned board_stack_used(void);

#endif
