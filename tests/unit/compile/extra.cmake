# Packages are made from real graphs and run on the emulated device: that is the truth they are held against.
calkit_link_closure(test_compile model emulator device)
