// Requests to the server of `rooftile web`, from any page or program of this machine. Each gets one
// whole answer, and files only for whoever names this machine as the host.
#include <cctype>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "web/page/server.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  static const std::vector<web::PageFile> files = {{"index.html", "the page"},
                                                   {"naga/index.js", "a script"}};
  const std::string_view head = text_of(bytes, count);
  const std::string answer = web::http_answer(files, head);
  const std::size_t body = answer.find("\r\n\r\n");
  require(answer.starts_with("HTTP/1.1 ") && body != std::string::npos, "an answer has a head");
  require(answer.find("\r\nContent-Length: ") < body, "an answer says its length");
  if (!answer.starts_with("HTTP/1.1 200 ")) return 0;
  require(head.starts_with("GET ") || head.starts_with("HEAD "), "files are only read");
  std::string lower(head);
  for (char& letter : lower)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  require(lower.find("\r\nhost:") != lower.npos &&
              (lower.find("127.0.0.1") != lower.npos || lower.find("localhost") != lower.npos),
          "only who names this machine gets files");
  const std::string_view content = std::string_view(answer).substr(body + 4);
  require(content.empty() || content == files[0].content || content == files[1].content,
          "what is handed out is a file");
  return 0;
}
