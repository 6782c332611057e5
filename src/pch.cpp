// The home of the precompiled header that every module reuses.
