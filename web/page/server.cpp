#include "web/page/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <thread>

#include "core/error.h"

namespace rooftile::web {
namespace {

constexpr std::size_t kLongestHead = 16 << 10;
constexpr int kPollMs = 200;           // How soon `stop` is seen.
constexpr timeval kPatience = {5, 0};  // Of a client that sends or takes nothing.
constexpr auto kLongestRequest = std::chrono::seconds(10);
constexpr std::size_t kMostClients = 64;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void failed(std::uint16_t port) {
  fail(ErrorCode::kIo, "cannot serve on 127.0.0.1:{}: {}; name another port", port,
       std::strerror(errno));
}

std::uint16_t listen_on(const Socket& socket, std::uint16_t port) {
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (socket.get() < 0 || ::bind(socket.get(), generic, size) != 0 ||
      ::listen(socket.get(), 64) != 0 || ::getsockname(socket.get(), generic, &size) != 0)
    failed(port);
  return ntohs(address.sin_port);
}

/// The head of a request up to its empty line; what came so far where the client ends early.
std::string read_head(const Socket& client) {
  std::string head;
  char buffer[4096];
  const auto end = std::chrono::steady_clock::now() + kLongestRequest;
  while (head.size() < kLongestHead && head.find("\r\n\r\n") == std::string::npos &&
         std::chrono::steady_clock::now() < end) {
    const ssize_t count = ::recv(client.get(), buffer, sizeof buffer, 0);
    if (count <= 0) break;
    head.append(buffer, static_cast<std::size_t>(count));
  }
  return head;
}

void send_all(const Socket& client, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string answer(std::string_view status, std::string_view type, std::string_view body,
                   bool with_body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), with_body ? body : std::string_view());
}

/// Value of a header in lower-case letters; empty: it is not there.
std::string header(std::string_view head, std::string_view name) {
  std::string lower(head);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string wanted = fmt::format("\r\n{}:", name);
  std::size_t at = lower.find(wanted);
  if (at == std::string::npos) return {};
  at += wanted.size();
  const std::size_t end = std::min(lower.find("\r\n", at), lower.size());
  std::string value = lower.substr(at, end - at);
  value.erase(0, value.find_first_not_of(' '));
  value.erase(value.find_last_not_of(' ') + 1);
  return value;
}

bool is_own_host(std::string_view host) {
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || name == "localhost";
}

}  // namespace

std::string http_answer(const std::vector<PageFile>& files, std::string_view head) {
  const std::size_t first = head.find(' '), second = head.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    return answer("400 Bad Request", "text/plain", "This is no request.\n", true);
  const std::string_view method = head.substr(0, first);
  if (method != "GET" && method != "HEAD")
    return answer("405 Method Not Allowed", "text/plain", "Only GET and HEAD.\n", true);
  if (!is_own_host(header(head, "host")))
    return answer("403 Forbidden", "text/plain", "This server is for this machine only.\n", true);
  std::string_view path = head.substr(first + 1, second - first - 1);
  path = path.substr(0, path.find('?'));
  const std::string_view name =
      path == "/" ? "index.html" : path.substr(std::min<std::size_t>(1, path.size()));
  for (const PageFile& file : files)
    if (file.name == name)
      return answer("200 OK", content_type(name), file.content, method == "GET");
  return answer("404 Not Found", "text/plain", "There is no such file.\n", method == "GET");
}

namespace {

struct Conversation {
  std::atomic<bool> over = false;
  std::jthread thread = {};
};

void converse(const std::vector<PageFile>& files, int descriptor, std::atomic<bool>& over) {
  {
    const Socket client(descriptor);
    ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    ::setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    send_all(client, http_answer(files, read_head(client)));
  }
  over = true;
}

}  // namespace

void serve_page(const std::vector<PageFile>& files, std::uint16_t port,
                const std::atomic<bool>& stop, const std::function<void(std::uint16_t)>& ready) {
  const Socket server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ready(listen_on(server, port));
  // A thread for each connection, because browsers open some in advance and leave them idle.
  std::list<Conversation> conversations;
  while (!stop) {
    conversations.remove_if([](const Conversation& one) { return one.over.load(); });
    pollfd waiting = {server.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kPollMs) <= 0) continue;
    const int client = ::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    if (conversations.size() >= kMostClients) {
      ::close(client);
      continue;
    }
    Conversation& one = conversations.emplace_back();
    one.thread = std::jthread([&files, &one, client] { converse(files, client, one.over); });
  }
}

}  // namespace rooftile::web
