#include "inspect/loops.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

using Edges = std::vector<std::vector<std::size_t>>;

/// The blocks that can be reached, each behind all blocks that can be reached from it, except over
/// edges that close a cycle.
std::vector<std::size_t> postorder(const Program& program) {
  struct Visit {
    std::size_t block, next;
  };
  std::vector<std::size_t> order;
  std::vector<bool> seen(program.blocks.size(), false);
  std::vector<Visit> stack = {{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    Visit& top = stack.back();
    const auto& successors = program.blocks[top.block].successors;
    if (top.next == successors.size()) {
      order.push_back(top.block);
      stack.pop_back();
      continue;
    }
    const std::size_t next = successors[top.next++];
    if (seen[next]) continue;
    seen[next] = true;
    stack.push_back({next, 0});
  }
  return order;
}

/// The immediate dominator of each block (Cooper, Harvey, Kennedy: A Simple, Fast Dominance
/// Algorithm); kNone for blocks that cannot be reached.
std::vector<std::size_t> dominators(const Edges& predecessors,
                                    const std::vector<std::size_t>& order) {
  std::vector<std::size_t> position(predecessors.size(), kNone);
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<std::size_t> dominator(predecessors.size(), kNone);
  dominator[0] = 0;
  const auto common = [&](std::size_t a, std::size_t b) {
    while (a != b) {
      while (position[a] < position[b]) a = dominator[a];
      while (position[b] < position[a]) b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = order.rbegin(); block != order.rend(); ++block) {
      if (*block == 0) continue;
      std::size_t best = kNone;
      for (const std::size_t before : predecessors[*block])
        if (dominator[before] != kNone) best = best == kNone ? before : common(before, best);
      if (dominator[*block] != best) {
        dominator[*block] = best;
        changed = true;
      }
    }
  }
  return dominator;
}

bool dominates(const std::vector<std::size_t>& dominator, std::size_t a, std::size_t b) {
  while (b != a && b != 0) b = dominator[b];
  return a == b;
}

/// Adds the blocks from which `from` can be reached without passing the header.
void add_body(std::vector<bool>& body, const Edges& predecessors, std::size_t from) {
  std::vector<std::size_t> stack = {from};
  while (!stack.empty()) {
    const std::size_t block = stack.back();
    stack.pop_back();
    if (body[block]) continue;
    body[block] = true;
    stack.insert(stack.end(), predecessors[block].begin(), predecessors[block].end());
  }
}

}  // namespace

std::vector<Loop> loops_of(const Program& program) {
  if (program.blocks.empty()) return {};
  const std::vector<std::size_t> order = postorder(program);
  Edges predecessors(program.blocks.size());
  for (const std::size_t block : order)
    for (const std::size_t next : program.blocks[block].successors)
      predecessors[next].push_back(block);
  const std::vector<std::size_t> dominator = dominators(predecessors, order);

  std::map<std::size_t, std::vector<bool>> bodies;  // by header
  for (const std::size_t block : order)
    for (const std::size_t next : program.blocks[block].successors) {
      if (!dominates(dominator, next, block)) continue;
      std::vector<bool>& body = bodies[next];
      body.resize(program.blocks.size());
      body[next] = true;
      add_body(body, predecessors, block);
    }

  constexpr std::size_t kMostCounted = 1 << 24;  // instructions, of a loop and those around it
  std::size_t counted = 0;
  std::vector<Loop> loops;
  for (const auto& [header, body] : bodies) {
    loops.push_back({.header = header, .blocks = {}, .parent = {}});
    for (std::size_t block = 0; block < body.size(); ++block) {
      if (!body[block]) continue;
      loops.back().blocks.push_back(block);
      counted += 1 + program.blocks[block].count;
    }
    if (counted > kMostCounted)
      fail(ErrorCode::kUnsupported, "the loops of the assembly are nested too deeply");
  }
  std::ranges::stable_sort(loops, std::ranges::greater(),
                           [](const Loop& loop) { return loop.blocks.size(); });
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (std::size_t outer = 0; outer < i; ++outer)
      if (std::ranges::binary_search(loops[outer].blocks, loops[i].header))
        loops[i].parent = outer;  // The last one found is the smallest.
  return loops;
}

}  // namespace rooftile
