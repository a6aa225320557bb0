// Applies a compiled model of one float input to numbers from stdin: the smallest whole program with fathom.hpp.
//   apply MODEL.fathom 2x3 < numbers > results
#include "fathom.hpp"

#include <cstdlib>
#include <iostream>

static std::vector<int64_t> parseShape(const char *text) {
  std::vector<int64_t> shape;
  for (char *end = nullptr; *text; text = *end ? end + 1 : end)
    shape.push_back(std::strtoll(text, &end, 10));
  return shape;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: apply MODEL.fathom SHAPE\n";
    return 2;
  }
  try {
    fathom::Model model(argv[1]);
    fathom::Session session(model);
    std::vector<float> values;
    for (float value; std::cin >> value;)
      values.push_back(value);
    std::vector<fathom::Tensor> outputs = session.run({fathom::view<float>(values, parseShape(argv[2]))});
    std::cout.precision(9);
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::cout << model.outputs()[i].name;
      for (int64_t size : outputs[i].shape())
        std::cout << " " << size;
      std::cout << " :";
      if (outputs[i].dtype() == FATHOM_I64)
        for (int64_t value : outputs[i].as<int64_t>())
          std::cout << " " << value;
      else
        for (float value : outputs[i].as<float>())
          std::cout << " " << value;
      std::cout << "\n";
    }
  } catch (const fathom::Error &error) {
    std::cerr << "apply: [F" << error.number() << "] " << error.what() << "\n";
    return 1;
  }
}
