// One request a line on the standard input, one answer a line on the standard output.
#include <iostream>
#include <string>

#include "web/engine/engine.h"

int main() {
  rooftile::web::Engine engine;
  for (std::string request; std::getline(std::cin, request);)
    std::cout << engine.answer(request) << '\n';
}
