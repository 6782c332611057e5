# cmake -DINPUT=file -DOUTPUT=file.cpp -DSYMBOL=name -P embed.cmake
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include <string_view>\nnamespace calkit::embedded {\nnamespace {\nconst unsigned char bytes[] = {\n${bytes}0};\n}\nextern const std::string_view ${SYMBOL};\nconst std::string_view ${SYMBOL}{reinterpret_cast<const char*>(bytes), sizeof bytes - 1};\n}\n")
