// A block of a language model on resident data, as one list: attention with grouped queries and a
// cache of keys and values, then a gated MLP, both with a residual. All weights are Q4_K blocks as
// they lie in GGUF files. Norms and rotary embeddings, which are no matrix products, are left out.
//
//   example_transformer_block [--tokens 5] [--past 3] [--width 256] [--heads 4] [--kv-heads 2]
//                             [--hidden 512] [--runs 1] [--write FOLDER]
//
// Prints tokens per second. --write stores weights, input, cache and result as raw files, which
// transformer_block_check.py compares with NumPy. Exit code 0: done, 1: a call failed.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <rooftile/rooftile.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t kBlock = 256, kBlockBytes = 144;  // of Q4_K

struct Sizes {
  std::int64_t tokens = 5, past = 3;  // of this call; whose keys and values are in the cache
  std::int64_t width = 256, heads = 4, kv_heads = 2, hidden = 512;
  std::int64_t head() const { return width / heads; }
  std::int64_t kv_width() const { return kv_heads * head(); }
  std::int64_t context() const { return past + tokens; }
};

class Numbers {
 public:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  float symmetric() { return static_cast<float>(next() % 20001) / 10000 - 1; }

 private:
  std::uint64_t state_ = 1;
};

using Files = std::map<std::string, std::vector<char>>;

std::vector<char> random_floats(std::int64_t count, Numbers& numbers) {
  std::vector<char> bytes(static_cast<std::size_t>(count) * sizeof(float));
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = numbers.symmetric();
    std::memcpy(bytes.data() + i * std::int64_t{sizeof value}, &value, sizeof value);
  }
  return bytes;
}

/// Rows of random Q4_K blocks that stand for weights of about 1 / sqrt(k).
std::vector<char> random_weights(std::int64_t n, std::int64_t k, Numbers& numbers) {
  std::vector<char> bytes(static_cast<std::size_t>(n * k / kBlock * kBlockBytes));
  for (char& byte : bytes) byte = static_cast<char>(numbers.next());
  // Powers of two as half precision. Values average 236 scales, minima 31.5, so that 7.5 times the
  // scale as the unit of the minima makes the mean 0.
  const int exponent = std::min(14, static_cast<int>(std::ceil(std::log2(250 * std::sqrt(k)))));
  const auto scale = static_cast<std::uint16_t>((15 - exponent) << 10),
             minimum = static_cast<std::uint16_t>((17 - exponent) << 10 | 0x380);
  for (std::size_t i = 0; i < bytes.size(); i += kBlockBytes) {
    std::memcpy(bytes.data() + i, &scale, sizeof scale);
    std::memcpy(bytes.data() + i + 2, &minimum, sizeof minimum);
  }
  return bytes;
}

/// Weights of n x k on the device.
struct Weights {
  Weights(const rooftile::Session& session, std::int64_t rows, std::int64_t columns,
          std::vector<char>& file, Numbers& numbers)
      : n(rows), k(columns) {
    file = random_weights(n, k, numbers);
    buffer = rooftile::DeviceBuffer(session, file.size());
    buffer.upload(file.data(), file.size());
  }
  std::int64_t n, k;
  rooftile::DeviceBuffer buffer;
};

class Block {
 public:
  Block(const rooftile::Session& session, const Sizes& sizes, Files& files, Numbers& numbers)
      : s_(sizes),
        query_(session, s_.width, s_.width, files["query"], numbers),
        key_(session, s_.kv_width(), s_.width, files["key"], numbers),
        value_(session, s_.kv_width(), s_.width, files["value"], numbers),
        output_(session, s_.width, s_.width, files["output"], numbers),
        gate_(session, s_.hidden, s_.width, files["gate"], numbers),
        up_(session, s_.hidden, s_.width, files["up"], numbers),
        down_(session, s_.width, s_.hidden, files["down"], numbers),
        keys_(floats(session, s_.context() * s_.kv_width())),
        values_(floats(session, s_.context() * s_.kv_width())),
        x_(floats(session, s_.tokens * s_.width)),
        queries_(floats(session, s_.tokens * s_.width)),
        scores_(floats(session, s_.heads * s_.tokens * s_.context())),
        attended_(floats(session, s_.tokens * s_.width)),
        middle_(floats(session, s_.tokens * s_.width)),
        gates_(floats(session, s_.tokens * s_.hidden)),
        ups_(floats(session, s_.tokens * s_.hidden)),
        y_(floats(session, s_.tokens * s_.width)),
        list_(session) {
    for (const auto& [name, cache] : {std::pair{"keys", &keys_}, {"values", &values_}}) {
      files[name] = random_floats(s_.past * s_.kv_width(), numbers);
      if (s_.past > 0) cache->upload(files[name].data(), files[name].size());
    }
    add_attention();
    add_mlp();
  }

  void transfer(const std::vector<char>& x, std::vector<char>& y) {
    x_.upload(x.data(), x.size());
    list_.run().wait();
    y.resize(x.size());
    y_.download(y.data(), y.size());
  }
  void run() { list_.run().wait(); }

 private:
  static rooftile::DeviceBuffer floats(const rooftile::Session& session, std::int64_t count) {
    return {session, static_cast<std::size_t>(count) * sizeof(float)};
  }

  /// c := a * w^T, plus a residual where one is named; rows of a and c are packed.
  void project(const rooftile::DeviceBuffer& a, const Weights& w, rooftile_place c,
               const rooftile::DeviceBuffer* residual = nullptr) {
    rooftile_quantization quantization = {};
    quantization.struct_size = sizeof quantization;
    quantization.values_bytes = static_cast<std::size_t>(w.n * w.k / kBlock * kBlockBytes);
    quantization.format = ROOFTILE_BLOCKS_Q4_K;
    rooftile_epilogue epilogue = {};
    epilogue.struct_size = sizeof epilogue;
    epilogue.ld_residual = w.n;
    rooftile_gemm_args args = {};
    args.trans_b = ROOFTILE_TRANSPOSE;
    args.m = s_.tokens, args.n = w.n, args.k = w.k;
    args.alpha = 1;
    args.lda = w.k, args.ldc = w.n;
    args.quantization = &quantization;
    rooftile_resident_operands operands = {};
    operands.a = a, operands.b = w.buffer, operands.c = c;
    if (residual != nullptr) {
      args.epilogue = &epilogue;
      operands.residual = *residual;
    }
    list_.gemm(args, operands);
  }

  void add_attention() {
    const std::int64_t past = s_.past * s_.kv_width(), of_head = s_.tokens * s_.context();
    const std::int64_t sharing = s_.heads / s_.kv_heads;  // heads that share keys and values
    project(x_, query_, queries_);
    project(x_, key_, keys_.at(past));
    project(x_, value_, values_.at(past));
    // Heads that share keys are as many matrices apart as share them: a batch takes one of each.
    for (std::int64_t i = 0; i < sharing; ++i) {
      rooftile_gemm_args args = batch(s_.context(), s_.head());
      args.trans_b = ROOFTILE_TRANSPOSE;
      args.lda = s_.width, args.stride_a = sharing * s_.head();
      args.ldc = s_.context(), args.stride_c = sharing * of_head;
      rooftile_resident_operands operands = {};
      operands.a = queries_.at(i * s_.head()), operands.b = keys_;
      operands.c = scores_.at(i * of_head);
      list_.gemm(args, operands);
    }
    rooftile_softmax_args softmax = {};
    softmax.rows = s_.tokens, softmax.columns = s_.context(), softmax.batch = s_.heads;
    softmax.ld_x = softmax.ld_y = s_.context();
    softmax.stride_x = softmax.stride_y = of_head;
    softmax.scale = 1 / std::sqrt(static_cast<float>(s_.head()));
    softmax.causal = 1, softmax.causal_offset = s_.past;
    list_.softmax(softmax, scores_, scores_);
    for (std::int64_t i = 0; i < sharing; ++i) {
      rooftile_gemm_args args = batch(s_.head(), s_.context());
      args.lda = s_.context(), args.stride_a = sharing * of_head;
      args.ldc = s_.width, args.stride_c = sharing * s_.head();
      rooftile_resident_operands operands = {};
      operands.a = scores_.at(i * of_head), operands.b = values_;
      operands.c = attended_.at(i * s_.head());
      list_.gemm(args, operands);
    }
    project(attended_, output_, middle_, &x_);
  }

  /// One matrix of tokens x n for each head of the keys and values, whose rows are B's.
  rooftile_gemm_args batch(std::int64_t n, std::int64_t k) const {
    rooftile_gemm_args args = {};
    args.m = s_.tokens, args.n = n, args.k = k;
    args.batch = s_.kv_heads;
    args.alpha = 1;
    args.ldb = s_.kv_width(), args.stride_b = s_.head();
    return args;
  }

  void add_mlp() {
    project(middle_, gate_, gates_);
    project(middle_, up_, ups_);
    rooftile_multiply_args multiply = {};
    multiply.rows = s_.tokens, multiply.columns = s_.hidden;
    multiply.ld_x = multiply.ld_y = multiply.ld_z = s_.hidden;
    multiply.activation = ROOFTILE_SILU;
    list_.multiply(multiply, gates_, ups_, gates_);
    project(gates_, down_, y_, &middle_);
  }

  const Sizes s_;
  Weights query_, key_, value_, output_, gate_, up_, down_;
  rooftile::DeviceBuffer keys_, values_;
  rooftile::DeviceBuffer x_, queries_, scores_, attended_, middle_, gates_, ups_, y_;
  rooftile::DeviceList list_;
};

void write(const std::string& folder, const Sizes& s, const Files& files) {
  for (const auto& [name, bytes] : files) {
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error(folder + "/" + name + " cannot be written");
  }
  std::ofstream sizes(folder + "/sizes");
  sizes << s.tokens << ' ' << s.past << ' ' << s.width << ' ' << s.heads << ' ' << s.kv_heads << ' '
        << s.hidden << '\n';
  if (!sizes.flush()) throw std::runtime_error(folder + "/sizes cannot be written");
}

void check(const Sizes& s) {
  if (s.tokens < 1 || s.past < 0 || s.heads < 1 || s.kv_heads < 1 || s.heads % s.kv_heads != 0 ||
      s.width % s.heads != 0 || s.width % kBlock != 0 || s.hidden % kBlock != 0 || s.width < 1 ||
      s.hidden < 1)
    throw std::runtime_error(
        "tokens have to be positive, width and hidden multiples of 256, heads divide width, and "
        "kv-heads divide heads");
}

int run(int argc, char** argv) {
  Sizes s;
  std::int64_t runs = 1;
  std::string folder;
  const std::map<std::string, std::int64_t*> options = {
      {"--tokens", &s.tokens}, {"--past", &s.past},         {"--width", &s.width},
      {"--heads", &s.heads},   {"--kv-heads", &s.kv_heads}, {"--hidden", &s.hidden},
      {"--runs", &runs}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const auto option = options.find(name);
    if (i + 1 == argc || (option == options.end() && name != "--write"))
      throw std::runtime_error(name + " is no option, or has no value");
    if (name == "--write")
      folder = argv[i + 1];
    else
      *option->second = std::atoll(argv[i + 1]);
  }
  check(s);
  Numbers numbers;
  Files files;
  const rooftile::Session session;
  Block block(session, s, files, numbers);
  files["x"] = random_floats(s.tokens * s.width, numbers);
  block.transfer(files["x"], files["y"]);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < runs; ++i) block.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f tokens/s: %lld tokens after %lld\n",
              static_cast<double>(s.tokens * runs) / elapsed.count(),
              static_cast<long long>(s.tokens), static_cast<long long>(s.past));
  if (!folder.empty()) write(folder, s, files);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
