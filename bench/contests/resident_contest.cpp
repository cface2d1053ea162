#include "bench/contests/resident_contest.h"

#include <limits>
#include <memory>

#include "runtime/abi/resident_arguments.h"
#include "runtime/resident/resident.h"

namespace rooftile {
namespace {

/// The GEMM with operands in host memory and in device memory.
class ResidentOperands {
 public:
  ResidentOperands(Context& context, const Problem& p, const ProductOperands& operands)
      : context_(context),
        resident_(context.resident()),
        host_(operands),
        a_(uploaded(host_.a)),
        b_(uploaded(host_.b)),
        c_(uploaded(host_.c)) {
    OperandAddresses addresses;
    const auto address = [&](const char* what, const std::shared_ptr<DeviceMemory>& memory) {
      return addresses.address(what, {.buffer = &memory->buffer}, sizeof(float));
    };
    const GemmCall there = {.problem = p,
                            .a = address("a", a_),
                            .b = address("b", b_),
                            .c = const_cast<void*>(address("c", c_))};
    work_ = {.call = checked_resident_call(there, addresses),
             .uses = {a_, b_, c_},
             .workspace = workspace_bound({}, 0, resident_->device()->profile())};
    here_ = call_of(p, host_, TierChoice::kHost1);
  }

  void compile() { resident_->product(work_, AwaitCertificate::kYes); }

  void multiply_there() { resident_->gemm(work_)->wait(std::numeric_limits<double>::infinity()); }

  void multiply_here() {
    resident_->download(a_, 0, host_.a.data(), host_.a.size());
    resident_->download(b_, 0, host_.b.data(), host_.b.size());
    context_.gemm(here_);
    resident_->upload(c_, 0, host_.c.data(), host_.c.size());
  }

 private:
  std::shared_ptr<DeviceMemory> uploaded(const std::vector<char>& operand) {
    auto memory = resident_->create_memory(operand.size());
    resident_->upload(memory, 0, operand.data(), operand.size());
    return memory;
  }

  Context& context_;
  const std::shared_ptr<Resident> resident_;
  ProductOperands host_;
  const std::shared_ptr<DeviceMemory> a_, b_, c_;
  ResidentWork work_;
  GemmCall here_;
};

}  // namespace

std::vector<Contestant> resident_contestants(Context& context, const Problem& p,
                                             const ProductOperands& operands,
                                             DeviceTakesPart device) {
  const auto product = std::make_shared<ResidentOperands>(context, p, operands);
  std::vector<Contestant> contestants = {
      {.context = &context, .tier = Tier::kHost1, .call = [product] { product->multiply_here(); }}};
  if (device == DeviceTakesPart::kNo) return contestants;
  product->compile();
  contestants.push_back({.context = &context, .tier = Tier::kDevice, .call = [product] {
                           product->multiply_there();
                         }});
  return contestants;
}

}  // namespace rooftile
