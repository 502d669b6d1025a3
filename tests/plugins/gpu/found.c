// A library for searches to find.
int found_answer(void) { return 42; }
