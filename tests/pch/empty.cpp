// A library needs a source file; this one is for the precompiled header beside it.
