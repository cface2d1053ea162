#include "db/sqlite/in_sqlite.h"

#include <pthread.h>

#include <atomic>
#include <new>

#include "db/sqlite/database_locked.h"

namespace rooftile {
namespace {

std::atomic<int> inside = 0;
std::atomic<bool> forked_inside = false;

void note_in_child() {
  if (inside > 0) forked_inside = true;
}

}  // namespace

InSqlite::InSqlite() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, note_in_child);
  if (registered != 0) throw std::bad_alloc();
  if (forked_inside)
    throw DatabaseLocked(
        "this process was forked while its parent used a tuning database, and can use none; fork "
        "earlier, or start a program");
  ++inside;
}

InSqlite::~InSqlite() { --inside; }

}  // namespace rooftile
