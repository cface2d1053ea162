#include "web/page/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rooftile::web {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<PageFile> kFiles = {{"index.html", "<p>page"}, {"naga/a.js", "let a;"}};

std::string answer(const std::string& line, const std::string& host = "127.0.0.1:8017") {
  return http_answer(kFiles, line + "\r\nHost: " + host + "\r\n\r\n");
}

TEST(WebServer, ServesItsFilesAndNothingElse) {
  EXPECT_THAT(answer("GET / HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer("GET / HTTP/1.1"), EndsWith("<p>page"));
  EXPECT_THAT(answer("GET /naga/a.js?x=1 HTTP/1.1"), HasSubstr("text/javascript"));
  EXPECT_THAT(answer("HEAD /index.html HTTP/1.1"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(answer("HEAD /index.html HTTP/1.1"), HasSubstr("Content-Length: 7"));
  for (const char* path :
       {"/../index.html", "/etc/passwd", "//index.html", "/naga/", "/%69ndex.html", ""})
    EXPECT_THAT(answer(std::string("GET ") + path + " HTTP/1.1"), StartsWith("HTTP/1.1 404"))
        << path;
  EXPECT_THAT(answer("POST / HTTP/1.1"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(http_answer(kFiles, "nonsense"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http_answer(kFiles, ""), StartsWith("HTTP/1.1 400"));
}

TEST(WebServer, RefusesRequestsThatComeByAnotherName) {
  EXPECT_THAT(answer("GET / HTTP/1.1", "localhost:1"), StartsWith("HTTP/1.1 200"));
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example:8017", "localhost.evil.example", ""})
    EXPECT_THAT(answer("GET / HTTP/1.1", host), StartsWith("HTTP/1.1 403")) << host;
  EXPECT_THAT(http_answer(kFiles, "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"));
}

}  // namespace
}  // namespace rooftile::web
