// A block of a language model on resident data, as one list: attention with grouped queries and a
// cache of keys and values, then a gated MLP, both with a residual. With --moe the MLP is that many
// experts, of which a router chooses --top-k for each token. All weights are Q4_K blocks as they
// lie in GGUF files, but the router's, which are float32 there, too. Norms and rotary embeddings,
// which are no matrix products, are left out.
//
//   example_transformer_block [--tokens 5] [--past 3] [--width 256] [--heads 4] [--kv-heads 2]
//                             [--hidden 512] [--moe 8] [--top-k 2] [--weights-of-all 0]
//                             [--runs 1] [--write FOLDER]
//
// Prints tokens per second. --write stores weights, input, cache and result as raw files, which
// transformer_block_check.py compares with NumPy. Exit code 0: done, 1: a call failed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <rooftile/rooftile.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "q4_k_weights.h"

namespace {

struct Sizes {
  std::int64_t tokens = 5, past = 3;  // of this call; whose keys and values are in the cache
  std::int64_t width = 256, heads = 4, kv_heads = 2, hidden = 512;
  std::int64_t experts = 0, chosen = 2;  // 0: a dense MLP
  std::int64_t weights_of_all = 0;       // 1: experts' weights are of the softmax over all of them
  std::int64_t head() const { return width / heads; }
  std::int64_t kv_width() const { return kv_heads * head(); }
  std::int64_t context() const { return past + tokens; }
  /// Rows of the MLP: one for each token, or for each pair of a token and an expert.
  std::int64_t rows() const { return experts > 0 ? tokens * chosen : tokens; }
};

using Files = std::map<std::string, std::vector<char>>;

class Block {
 public:
  Block(const rooftile::Session& session, const Sizes& sizes, Files& files, Numbers& numbers)
      : s_(sizes),
        query_(session, s_.width, s_.width, files["query"], numbers),
        key_(session, s_.kv_width(), s_.width, files["key"], numbers),
        value_(session, s_.kv_width(), s_.width, files["value"], numbers),
        output_(session, s_.width, s_.width, files["output"], numbers),
        gate_(session, s_.hidden, s_.width, files["gate"], numbers, matrices()),
        up_(session, s_.hidden, s_.width, files["up"], numbers, matrices()),
        down_(session, s_.width, s_.hidden, files["down"], numbers, matrices()),
        keys_(floats(session, s_.context() * s_.kv_width())),
        values_(floats(session, s_.context() * s_.kv_width())),
        x_(floats(session, s_.tokens * s_.width)),
        queries_(floats(session, s_.tokens * s_.width)),
        scores_(floats(session, s_.heads * s_.tokens * s_.context())),
        attended_(floats(session, s_.tokens * s_.width)),
        middle_(floats(session, s_.tokens * s_.width)),
        gates_(floats(session, s_.rows() * s_.hidden)),
        ups_(floats(session, s_.rows() * s_.hidden)),
        y_(floats(session, s_.tokens * s_.width)),
        list_(session) {
    for (const auto& [name, cache] : {std::pair{"keys", &keys_}, {"values", &values_}}) {
      files[name] = random_floats(s_.past * s_.kv_width(), numbers);
      if (s_.past > 0) cache->upload(files[name].data(), files[name].size());
    }
    add_attention();
    if (s_.experts > 0) {
      moe_ = Experts(session, s_);
      files["router"] = random_floats(s_.experts * s_.width, numbers);
      moe_.router.upload(files["router"].data(), files["router"].size());
      add_experts();
    } else {
      add_mlp();
    }
  }

  /// Computes y of x, and stores it with what the router has chosen.
  void transfer(Files& files) {
    const std::vector<char>& x = files["x"];
    x_.upload(x.data(), x.size());
    list_.run().wait();
    std::vector<char>& y = files["y"];
    y.resize(x.size());
    y_.download(y.data(), y.size());
    if (s_.experts == 0) return;
    std::vector<char>& chosen = files["chosen"];
    chosen.resize(static_cast<std::size_t>(s_.rows()) * sizeof(std::int32_t));
    moe_.chosen.download(chosen.data(), chosen.size());
    std::int32_t status = ROOFTILE_GROUPS_RIGHT;
    moe_.status.download(&status, sizeof status);
    if (status != ROOFTILE_GROUPS_RIGHT) throw std::runtime_error("groups of tokens do not fit");
  }
  void run() { list_.run().wait(); }

 private:
  /// What only a mixture of experts needs. Integers are as large as floats.
  struct Experts {
    Experts() = default;
    Experts(const rooftile::Session& session, const Sizes& s)
        : router(floats(session, s.experts * s.width)),
          logits(floats(session, s.tokens * s.experts)),
          chosen(floats(session, s.rows())),
          weights(floats(session, s.rows())),
          sizes(floats(session, s.experts)),
          sources(floats(session, s.rows())),
          places(floats(session, s.rows())),
          gathered(floats(session, s.rows() * s.width)),
          products(floats(session, s.rows() * s.width)),
          status(floats(session, 1)) {}
    rooftile::DeviceBuffer router, logits, chosen, weights, sizes, sources, places, gathered,
        products, status;
  };

  std::int64_t matrices() const { return std::max<std::int64_t>(s_.experts, 1); }

  static rooftile::DeviceBuffer floats(const rooftile::Session& session, std::int64_t count) {
    return {session, static_cast<std::size_t>(count) * sizeof(float)};
  }

  static rooftile_quantization q4_k(const Weights& w, std::int64_t experts = 1) {
    rooftile_quantization quantization = {};
    quantization.struct_size = sizeof quantization;
    quantization.values_bytes =
        static_cast<std::size_t>(experts * w.n * w.k / kBlock * kBlockBytes);
    quantization.format = ROOFTILE_BLOCKS_Q4_K;
    return quantization;
  }

  static rooftile_gemm_args projection(const Weights& w, std::int64_t rows) {
    rooftile_gemm_args args = {};
    args.trans_b = ROOFTILE_TRANSPOSE;
    args.m = rows, args.n = w.n, args.k = w.k;
    args.alpha = 1;
    args.lda = w.k, args.ldc = w.n;
    return args;
  }

  /// c := a * w^T, plus a residual where one is named; rows of a and c are packed.
  void project(const rooftile::DeviceBuffer& a, const Weights& w, rooftile_place c,
               const rooftile::DeviceBuffer* residual = nullptr) {
    rooftile_quantization quantization = q4_k(w);
    rooftile_epilogue epilogue = {};
    epilogue.struct_size = sizeof epilogue;
    epilogue.ld_residual = w.n;
    rooftile_gemm_args args = projection(w, s_.tokens);
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
    add_gating();
    project(gates_, down_, y_, &middle_);
  }

  void add_gating() {
    rooftile_multiply_args multiply = {};
    multiply.rows = s_.rows(), multiply.columns = s_.hidden;
    multiply.ld_x = multiply.ld_y = multiply.ld_z = s_.hidden;
    multiply.activation = ROOFTILE_SILU;
    list_.multiply(multiply, gates_, ups_, gates_);
  }

  void add_experts() {
    add_router();
    multiply_experts(moe_.gathered, gate_, gates_);
    multiply_experts(moe_.gathered, up_, ups_);
    add_gating();
    multiply_experts(gates_, down_, moe_.products);
    rooftile_combine_args combine = {};
    combine.tokens = s_.tokens, combine.columns = s_.width;
    combine.chosen = s_.chosen, combine.rows_x = s_.rows();
    combine.ld_x = combine.ld_residual = combine.ld_y = s_.width;
    combine.ld_places = combine.ld_weights = s_.chosen;
    rooftile::combine(list_, combine, moe_.products, moe_.places, moe_.weights, middle_, y_);
  }

  /// Chooses experts, and sorts copies of the tokens' rows by expert.
  void add_router() {
    rooftile_gemm_args args = {};
    args.trans_b = ROOFTILE_TRANSPOSE;
    args.m = s_.tokens, args.n = s_.experts, args.k = s_.width;
    args.alpha = 1;
    args.lda = args.ldb = s_.width, args.ldc = s_.experts;
    rooftile_resident_operands operands = {};
    operands.a = middle_, operands.b = moe_.router, operands.c = moe_.logits;
    list_.gemm(args, operands);
    rooftile_top_k_args top_k = {};
    top_k.rows = s_.tokens, top_k.columns = top_k.ld_x = s_.experts;
    top_k.chosen = top_k.ld_experts = top_k.ld_weights = s_.chosen;
    top_k.weights_of_all = s_.weights_of_all;
    rooftile::top_k(list_, top_k, moe_.logits, moe_.chosen, moe_.weights);
    rooftile_group_tokens_args group = {};
    group.tokens = s_.tokens, group.experts = s_.experts;
    group.chosen = group.ld_experts = group.ld_places = s_.chosen;
    rooftile::group_tokens(list_, group, moe_.chosen, moe_.sizes, moe_.sources, moe_.places);
    rooftile_gather_args gather = {};
    gather.rows = s_.rows(), gather.rows_x = s_.tokens;
    gather.columns = gather.ld_x = gather.ld_y = s_.width;
    rooftile::gather(list_, gather, middle_, moe_.sources, moe_.gathered);
  }

  /// c := a * w^T of each row's expert. The device knows how many rows each has.
  void multiply_experts(const rooftile::DeviceBuffer& a, const Weights& w,
                        const rooftile::DeviceBuffer& c) {
    rooftile_quantization quantization = q4_k(w, s_.experts);
    rooftile_gemm_args args = projection(w, s_.rows());
    args.stride_b = w.n * w.k;
    args.quantization = &quantization;
    rooftile_groups groups = {};
    groups.count = groups.experts = s_.experts;
    rooftile_resident_operands operands = {};
    operands.a = a, operands.b = w.buffer, operands.c = c;
    rooftile_grouped_operands of_groups = {};
    of_groups.rows = moe_.sizes, of_groups.status = moe_.status;
    rooftile::grouped_gemm(list_, args, groups, operands, of_groups);
  }

  const Sizes s_;
  Weights query_, key_, value_, output_, gate_, up_, down_;
  rooftile::DeviceBuffer keys_, values_;
  rooftile::DeviceBuffer x_, queries_, scores_, attended_, middle_, gates_, ups_, y_;
  Experts moe_;
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
        << s.hidden << ' ' << s.experts << ' ' << s.chosen << ' ' << s.weights_of_all << '\n';
  if (!sizes.flush()) throw std::runtime_error(folder + "/sizes cannot be written");
}

void check(const Sizes& s) {
  if (s.experts < 0 ||
      (s.experts > 0 && (s.chosen < 1 || s.chosen > std::min<std::int64_t>(s.experts, 64))))
    throw std::runtime_error("top-k has to be from 1 to the number of experts, and at most 64");
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
      {"--moe", &s.experts},   {"--top-k", &s.chosen},      {"--weights-of-all", &s.weights_of_all},
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
  block.transfer(files);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < runs; ++i) block.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f tokens/s: %lld tokens after %lld, %s\n",
              static_cast<double>(s.tokens * runs) / elapsed.count(),
              static_cast<long long>(s.tokens), static_cast<long long>(s.past),
              s.experts > 0 ? "mixture of experts" : "dense MLP");
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
