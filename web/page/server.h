// A web server for the page, on this machine alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "web/page/page_files.h"

namespace rooftile::web {

/// Serves these files on 127.0.0.1 until `stop` is true: GET and HEAD of their names, one request a
/// connection, everything else is refused. port 0: any free port. Calls `ready` with the port once
/// connections are accepted. Requests whose Host is another name than this machine's are refused,
/// so that no page from elsewhere can read these files through a name of its own. Throws kIo, where
/// the port is taken for instance.
void serve_page(const std::vector<PageFile>& files, std::uint16_t port,
                const std::atomic<bool>& stop, const std::function<void(std::uint16_t)>& ready);

/// The answer to the head of a request, as bytes.
std::string http_answer(const std::vector<PageFile>& files, std::string_view head);

}  // namespace rooftile::web
