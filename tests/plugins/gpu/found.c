// A library for the searches to find.
int found_answer(void) { return 42; }
