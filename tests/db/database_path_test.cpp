// Path of the database when the caller names no file.
#include <map>

#include "store_fixture.h"

namespace rooftile {
namespace {

class DefaultPathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : {"ROOFTILE_DB", "XDG_DATA_HOME", "HOME"}) {
      const char* value = std::getenv(variable);
      saved_[variable] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      ::unsetenv(variable);
    }
  }
  void TearDown() override {
    for (const auto& [variable, value] : saved_)
      value ? ::setenv(variable.c_str(), value->c_str(), 1) : ::unsetenv(variable.c_str());
  }
  std::map<std::string, std::optional<std::string>> saved_;
};

TEST_F(DefaultPathTest, FirstVariableThatIsSetWins) {
  // Without variables, the path comes from the user's entry in the password database.
  EXPECT_TRUE(default_database_path().is_absolute());
  ::setenv("HOME", "/home/x", 1);
  EXPECT_EQ(default_database_path(), "/home/x/.local/share/rooftile/rooftile.db");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_EQ(default_database_path(), "/home/x/.local/share/rooftile/rooftile.db");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_database_path(), "/data/rooftile/rooftile.db");
  ::setenv("ROOFTILE_DB", "", 1);
  EXPECT_EQ(default_database_path(), "/data/rooftile/rooftile.db");
  ::setenv("ROOFTILE_DB", "here.db", 1);
  EXPECT_EQ(default_database_path(), "here.db");
}

}  // namespace
}  // namespace rooftile
