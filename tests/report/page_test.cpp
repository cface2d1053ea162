// The page needs no other files, and nothing in the database can break out of its data.
#include "report/page.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "cli/runtime_view.h"
#include "tests/db/store_fixture.h"
#include "tests/report/simulated_machine.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PageTest : public StoreTest {
 protected:
  static std::string page(const Store& store) {
    return report_page(make_charts(store, runtime_view(), make_report(store, runtime_view())));
  }
  static nlohmann::json data_of(const std::string& page) {
    const std::string begin = R"(<script type="application/json" id="data">)";
    const std::size_t from = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  }
};

TEST_F(PageTest, NamesCannotTerminateTheDataScript) {
  const std::string name = "</script><script>alert(\"x\")</script> & \"quotes' <!-- \xff {{data}}";
  Store store(file());
  simulate(store, {.name = name, .problems = 1, .samples = 3});
  const std::string text = page(store);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<!--"))));
  EXPECT_EQ(data_of(text).at("devices").at(0).at("name"),
            "</script><script>alert(\"x\")</script> & \"quotes' <!-- \xef\xbf\xbd {{data}}");
}

TEST_F(PageTest, IsSelfContained) {
  Store store(file());
  simulate(store, {.problems = 1, .samples = 3});
  const std::string text = page(store);
  EXPECT_THAT(text, Not(HasSubstr("{{")));
  for (const char* reference : {" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_THAT(text, Not(HasSubstr(reference)));
  EXPECT_THAT(text, HasSubstr("Chart.js v")) << "the licence line of Chart.js is kept";
}

TEST_F(PageTest, AnEmptyDatabaseMakesAPage) {
  const Store store(file());
  EXPECT_TRUE(data_of(page(store)).at("devices").empty());
}

// 24 winners and the samples of their kernels, as after some weeks of tuning.
TEST_F(PageTest, AHundredThousandSamplesStayBelowThreeMegabytes) {
  Store store(file());
  simulate(store, {.problems = 25, .samples = 4000});
  const std::string text = page(store);
  EXPECT_EQ(data_of(text).at("devices").at(0).at("samples"), 100000);
  EXPECT_LT(text.size(), 3'000'000u);
}

TEST_F(PageTest, AFullPageStaysBelowThreeMegabytes) {
  Store store(file());
  for (int i = 0; i < 4; ++i)
    simulate(store, {.uuid = std::to_string(i), .problems = 80, .samples = 40, .counters = 300});
  EXPECT_LT(page(store).size(), 3'000'000u);
}

}  // namespace
}  // namespace rooftile
