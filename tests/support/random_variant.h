// Kernels with any values of all parameters, most of which are illegal.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "core/variant.h"

namespace rooftile {

inline rc::Gen<Variant> any_variant() {
  return rc::gen::exec([] {
    Variant v;
    const std::vector<ParameterNumber> numbers = parameter_numbers(v);
    const std::vector<std::string> names = parameter_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (numbers[i].words == 0) {
        set_parameter(v, names[i], std::to_string(*rc::gen::inRange(0, 65537)));
        continue;
      }
      std::string words = parameter_values(names[i]);
      for (int skipped = *rc::gen::inRange(0, numbers[i].words); skipped > 0; --skipped)
        words = words.substr(words.find(", ") + 2);
      set_parameter(v, names[i], words.substr(0, words.find(',')));
    }
    return v;
  });
}

}  // namespace rooftile
