#include "web/page/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "core/error.h"
#include "tests/support/scratch.h"

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

/// A connection to a port of this machine.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::string answer(const std::string& request) const {
    EXPECT_EQ(::send(socket_, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string text;
    char part[4096];
    for (ssize_t count = 0; (count = ::recv(socket_, part, sizeof part, 0)) > 0;)
      text.append(part, static_cast<std::size_t>(count));
    return text;
  }
  bool is_open() const {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

 private:
  int socket_;
};

TEST(WebServer, AnswersWhileOtherConnectionsAreIdle) {
  std::atomic<bool> stop = false;
  std::promise<std::uint16_t> port;
  std::jthread server(
      [&] { serve_page(kFiles, 0, stop, [&](std::uint16_t at) { port.set_value(at); }); });
  {
    const std::uint16_t at = port.get_future().get();
    const Client idle(at), asking(at);
    EXPECT_THAT(asking.answer("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), EndsWith("<p>page"));
    EXPECT_TRUE(idle.is_open()) << "the idle connection was answered first";
  }
  stop = true;
}

TEST(WritePage, ReplacesAnEarlierPageAndNoOtherFile) {
  const ScratchFolder temporary;
  const std::filesystem::path folder = temporary.path() / "page",
                              victim = temporary.path() / "victim";
  const std::vector<PageFile> files = {{"index.html", "<title>Rooftile: one"},
                                       {"main.js", "let one;"}};
  write_page(files, folder);
  write_page(files, folder);
  std::ofstream(victim) << "mine";
  std::filesystem::remove(folder / "main.js");
  std::filesystem::create_symlink(victim, folder / "main.js");
  EXPECT_THROW(write_page(files, folder), Error) << "a link is followed";
  std::filesystem::remove(folder / "main.js");
  std::filesystem::remove(folder / "index.html");
  std::ofstream(folder / "main.js") << "mine";
  EXPECT_THROW(write_page(files, folder), Error) << "a foreign file is replaced";
  std::filesystem::create_directories(folder / "index.html");
  EXPECT_THROW(write_page(files, folder), Error) << "a folder is in the way";
  std::string kept;
  std::ifstream(victim) >> kept;
  EXPECT_EQ(kept, "mine");
}

}  // namespace
}  // namespace rooftile::web
