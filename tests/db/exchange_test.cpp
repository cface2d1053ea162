// Exports and imports: each row arrives once and with its origin, and imported rows stay distinct
// from this machine's own. Imported files may contain anything.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "db/schema/schema.h"
#include "db/sqlite/connection.h"
#include "file_bytes.h"
#include "filled_store.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Rows = std::vector<std::vector<std::string>>;

class ExchangeTest : public StoreTest {
 protected:
  /// The exporting machine's device.
  std::filesystem::path theirs() const { return folder_ / "theirs.db"; }
  std::filesystem::path exported() const { return folder_ / "export.db"; }

  void export_all(const Store& store) {
    std::vector<RowId> devices;
    for (const DeviceRecord& device : store.devices()) devices.push_back(device.id);
    store.export_to(exported(), devices);
  }
  void export_filled() {
    Store store(theirs());
    fill_store(store);
    export_all(store);
  }
  static std::string value(const Store& store, const std::string& sql) {
    const Rows rows = store.query(sql).rows;
    return rows.empty() ? "no row" : rows[0][0];
  }
  /// The data of a file as text, independent of row ids.
  static Rows content(const Store& store) {
    return store
        .query(
            "SELECT d.device_uuid, d.driver_version, r.key, r.outcome, c.hash, p.bucket, s.status,"
            " s.kernel_ns, s.detail, s.created_at, s.retaken, s.noisy, s.level, s.purpose FROM "
            "samples AS s "
            "JOIN runs AS r ON r.id = "
            "s.run_id JOIN devices AS d ON d.id = r.device_id JOIN candidates AS c ON c.id = "
            "s.candidate_id JOIN problems AS p ON p.id = s.problem_id ORDER BY r.key, s.id")
        .rows;
  }
  static std::vector<std::int64_t> numbers(const ImportReport& r) {
    return {r.devices, r.calibrations, r.runs, r.samples, r.winners};
  }
  /// Exports the file and applies this change to the export.
  std::filesystem::path tampered(const std::string& sql) {
    export_filled();
    SQLite::Database vandal(exported().string(), SQLite::OPEN_READWRITE);
    vandal.exec("PRAGMA ignore_check_constraints = ON; " + sql);
    return exported();
  }
};

TEST_F(ExchangeTest, AnExportIsOneSoundFileWithTheDataAndNothingPrivate) {
  Store store(theirs());
  const Filled filled = fill_store(store);
  store.journal_begin(filled.device, filled.slow.id, ::getpid());
  store.candidate_id(example_candidate("never tried"));
  export_all(store);
  for (const auto& [name, hash] : contents(folder_.path()))
    EXPECT_THAT(name, Not(AllOf(HasSubstr("export"), Not(::testing::EndsWith("export.db")))));
  const Store copy(exported(), {.mode = OpenMode::kReadOnly, .check = OpenCheck::kFull});
  EXPECT_THAT(copy.check(), IsEmpty());
  EXPECT_EQ(copy.schema_version(), kSchemaVersion);
  EXPECT_EQ(content(copy), content(store));
  EXPECT_EQ(value(copy, "SELECT count(*) FROM compiler_facts"), "1");
  EXPECT_EQ(value(copy, "SELECT count(*) FROM calibration_figures"), "3");
  EXPECT_EQ(value(copy, "SELECT count(*) FROM kernel_counters"), "2");
  EXPECT_EQ(value(copy, "SELECT count(*) FROM winners"), "3");
  EXPECT_EQ(value(copy, "SELECT count(*) FROM portfolio"), "1");
  EXPECT_EQ(value(copy, "SELECT count(*) FROM black_list"), "1");
  EXPECT_EQ(value(copy, "SELECT count(*) FROM candidates WHERE hash = 'never tried'"), "0");
  for (const char* table :
       {"certificates", "journal", "outcomes", "untuned_problems", "import_log"})
    EXPECT_EQ(value(copy, fmt::format("SELECT count(*) FROM {}", table)), "0") << table;
  EXPECT_THAT(copy.tuned_kernels(filled.device, "1.0"), IsEmpty());
}

TEST_F(ExchangeTest, OnlyTheRequestedDevicesAreExported) {
  Store store(theirs());
  const Filled filled = fill_store(store);
  DeviceProfile other = example_device("other");
  other.driver_version = 7;
  const RowId other_row = store.device_id(other);
  const RowId run = store.begin_run(other_row, "1.0", "{}");
  store.add_sample(measured(run, store.candidate_id(example_candidate("other", 16)),
                            store.problem_id(packed_problem(5, 6, 7)), 10));
  store.export_to(exported(), std::vector<RowId>{other_row});
  const Store copy(exported(), OpenMode::kReadOnly);
  ASSERT_THAT(copy.devices(), SizeIs(1));
  EXPECT_EQ(copy.devices()[0].profile.name, "other");
  EXPECT_THAT(content(copy), SizeIs(1));
  EXPECT_EQ(value(copy, "SELECT group_concat(hash) FROM candidates"), "other");
  EXPECT_EQ(value(copy, "SELECT count(*) FROM problems"), "1");
}

TEST_F(ExchangeTest, AFailedExportLeavesTheOldFile) {
  export_filled();
  const auto before = contents(folder_.path());
  Store store(theirs());
  EXPECT_EQ(error_of([&] { store.export_to(theirs(), {}); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([&] { store.export_to(folder_ / "no" / "export.db", {}); }).code(),
            ErrorCode::kIo);
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_EQ(error_of([&] { store.export_to(folder_ / "folder", {}); }).code(), ErrorCode::kIo);
  EXPECT_EQ(hash_hex(bytes_of_file(exported())), before.at("export.db"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().filename().string().front(), '.') << "a temporary file remains";
}

TEST_F(ExchangeTest, AnImportAddsEverythingOnceWithItsOrigin) {
  export_filled();
  const std::string origin =
      value(Store(exported(), OpenMode::kReadOnly), "SELECT key FROM origins WHERE own");
  Store store(file());
  const ImportReport first = store.import_from(exported());
  EXPECT_EQ(first.origin, origin);
  EXPECT_THAT(numbers(first), ElementsAre(1, 2, 2, 8, 3));
  EXPECT_EQ(content(store), content(Store(exported(), OpenMode::kReadOnly)));
  EXPECT_EQ(store
                .query("SELECT DISTINCT o.key FROM runs AS r LEFT JOIN origins AS o ON o.id = "
                       "r.origin_id")
                .rows,
            (Rows{{origin}}));
  EXPECT_EQ(store
                .query("SELECT file, origin, devices, calibrations, runs, samples, winners "
                       "FROM imports")
                .rows,
            (Rows{{"export.db", origin, "1", "2", "2", "8", "3"}}));
  EXPECT_EQ(value(store, "SELECT count(*) FROM compiler_facts WHERE origin_id IS NOT NULL"), "1");
  EXPECT_EQ(value(store, "SELECT reason FROM imported_black_list"), "hung for 2 s");
  EXPECT_EQ(store.query("SELECT m, kernel_ns, origin FROM imported_kernels ORDER BY m").rows,
            (Rows{{"37", "800.0", origin}, {"500", "300.0", origin}}));
  EXPECT_THAT(store.check(), IsEmpty());

  const auto before = store.stats().tables;
  EXPECT_FALSE(brought_anything(store.import_from(exported())));
  const auto after = store.stats().tables;
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(after[i].rows, before[i].rows) << before[i].table;
}

TEST_F(ExchangeTest, ALaterExportAddsOnlyNewRows) {
  Store theirs_store(theirs());
  const Filled filled = fill_store(theirs_store);
  const RowId problem = theirs_store.problem_id(packed_problem(37, 129, 65));
  const RowId running = theirs_store.begin_run(filled.device, "1.0", "{}");
  theirs_store.add_sample(measured(running, filled.fast.id, problem, 700));
  export_all(theirs_store);
  Store store(file());
  store.import_from(exported());

  theirs_store.add_sample(measured(running, filled.fast.id, problem, 701));
  theirs_store.add_sample(measured(running, filled.slow.id, problem, 702));
  theirs_store.end_run(running, "finished");
  const std::vector<WinnerRecord> list = {
      {.candidate = filled.slow.id, .problem = problem, .rank = 0, .kernel_ns = 702}};
  theirs_store.put_winners(filled.device, filled.bucket, list);
  export_all(theirs_store);
  EXPECT_THAT(numbers(store.import_from(exported())), ElementsAre(0, 0, 0, 2, 1));
  EXPECT_EQ(content(store), content(theirs_store));
  EXPECT_EQ(store.query("SELECT m, kernel_ns FROM imported_kernels ORDER BY m").rows,
            (Rows{{"37", "702.0"}, {"500", "300.0"}}));
  EXPECT_EQ(value(store, "SELECT count(*) FROM imported_winners"), "2");
  EXPECT_EQ(value(store, "SELECT count(*) FROM runs WHERE outcome IS NULL"), "0");
}

TEST_F(ExchangeTest, DataIsAddedOnceWhicheverFilesItPassesThrough) {
  export_filled();
  {
    Store between(folder_ / "between.db");
    between.import_from(exported());
    const RowId run = between.begin_run(between.device_id(example_device()), "1.0", "{}");
    between.add_sample(measured(run, between.candidate_id(example_candidate("own", 16)),
                                between.problem_id(packed_problem(3, 4, 5)), 10));
  }
  Store store(file());
  store.import_from(exported());
  EXPECT_THAT(numbers(store.import_from(folder_ / "between.db")), ElementsAre(0, 0, 1, 1, 0))
      << "a database can be imported like an export";
  EXPECT_EQ(value(store, "SELECT count(DISTINCT origin_id) FROM runs"), "2");

  // Imports the file back into the first database.
  Store home(theirs());
  const Rows before = home.query("SELECT * FROM device_report").rows;
  std::vector<RowId> devices;
  for (const DeviceRecord& device : store.devices()) devices.push_back(device.id);
  store.export_to(exported(), devices);
  EXPECT_THAT(numbers(home.import_from(exported())), ElementsAre(0, 0, 1, 1, 0));
  EXPECT_EQ(home.query("SELECT * FROM device_report").rows, before);
  EXPECT_THAT(home.check(), IsEmpty());
}

TEST_F(ExchangeTest, RankedListsAndPortfoliosOfThisDeviceAreReadWithTheirOrigin) {
  export_filled();
  Store store(file());
  const ImportReport report = store.import_from(exported());
  EXPECT_EQ(report.portfolio, 1);
  const RowId device = store.devices()[0].id;
  const auto kernels = store.imported_kernels(device);
  ASSERT_THAT(kernels, SizeIs(3));
  for (const ImportedKernel& imported : kernels) EXPECT_EQ(imported.origin, report.origin);
  EXPECT_EQ(kernels[0].kernel.candidate.hash, "fast");
  EXPECT_EQ(kernels[0].kernel.kernel_ns, 800);
  EXPECT_EQ(kernels[0].kernel.pack_ns, 40);
  EXPECT_EQ(kernels[0].kernel.problem, packed_problem(37, 129, 65));
  const auto portfolio = store.imported_portfolio(device);
  ASSERT_THAT(portfolio, SizeIs(1));
  EXPECT_EQ(portfolio[0].candidate.hash, "fast");
  EXPECT_EQ(portfolio[0].times,
            (std::vector<MeasuredTime>{{.m = 8, .n = 8, .k = 8, .batch = 1, .ns = 9}}));
  EXPECT_THAT(store.measured_portfolio(device, "f32.nt"), IsEmpty())
      << "imported portfolios are not this machine's own";
  // A third machine receives the imported portfolio as well.
  store.export_to(folder_ / "again.db", std::vector<RowId>{device});
  Store third(folder_ / "third.db");
  EXPECT_EQ(third.import_from(folder_ / "again.db").portfolio, 1);
  EXPECT_THAT(third.imported_kernels(third.devices()[0].id), SizeIs(3));
  EXPECT_EQ(value(third,
                  "SELECT o.key FROM imported_portfolio JOIN origins AS o ON o.id = "
                  "origin_id"),
            report.origin);
}

TEST_F(ExchangeTest, GroupedProblemsAreSharedWithTheirGroups) {
  const Problem grouped =
      grouped_problem(500, 40, 64, {.experts = 9, .groups = 8, .largest = 250}, Transpose::kYes);
  {
    Store store(theirs());
    const Filled filled = fill_store(store);
    CandidateRecord kernel = example_candidate("of groups");
    kernel.signature = "f32.nt.grouped";
    const std::vector<WinnerRecord> winners = {{.candidate = store.candidate_id(kernel),
                                                .problem = store.problem_id(grouped),
                                                .kernel_ns = 700}};
    store.put_winners(filled.device, to_string(bucket_of(grouped)), winners);
    export_all(store);
  }
  Store store(file());
  EXPECT_EQ(store.import_from(exported()).winners, 4);
  std::vector<Problem> found;
  for (const ImportedKernel& imported : store.imported_kernels(store.devices()[0].id))
    if (imported.kernel.candidate.signature == "f32.nt.grouped")
      found.push_back(imported.kernel.problem);
  EXPECT_THAT(found, ElementsAre(grouped));
}

TEST_F(ExchangeTest, OfSeveralPortfoliosOfADeviceAndClassTheNewestIsKept) {
  const auto of_machine = [&](const std::string& name, const std::string& created_at) {
    Store machine(folder_ / (name + ".db"));
    const Filled filled = fill_store(machine);
    const std::vector<PortfolioRecord> kernels = {
        {.candidate = filled.slow.id, .place = 1, .times = {{.m = 1, .n = 1, .k = 1, .ns = 5}}},
        {.candidate = filled.fast.id, .place = 0, .times = {{.m = 1, .n = 1, .k = 1, .ns = 4}}},
        {.candidate = filled.wrong.id, .times = {{.m = 1, .n = 1, .k = 1, .ns = 6}}}};
    machine.put_portfolio(filled.device, filled.fast.signature, kernels, std::nullopt);
    const std::filesystem::path target = folder_ / (name + "-export.db");
    machine.export_to(target, std::vector<RowId>{filled.device});
    SQLite::Database(target.string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE portfolio SET created_at = '" + created_at + "'");
    return target;
  };
  const auto older = of_machine("older", "2026-01-01T00:00:00.000Z"),
             newer = of_machine("newer", "2026-01-02T00:00:00.000Z"),
             other = of_machine("other", "2026-01-01T12:00:00.000Z");
  Store store(file());
  EXPECT_EQ(store.import_from(older).portfolio, 2) << "kernels without a place are not imported";
  const std::string key = store.import_from(newer).origin;
  EXPECT_EQ(store.import_from(other).portfolio, 0);
  EXPECT_EQ(store.import_from(newer).portfolio, 0) << "a second import adds nothing";
  EXPECT_EQ(store
                .query("SELECT o.key, c.hash, p.place FROM imported_portfolio AS p"
                       " JOIN origins AS o ON o.id = p.origin_id"
                       " JOIN candidates AS c ON c.id = p.candidate_id ORDER BY p.place")
                .rows,
            (Rows{{key, "fast", "0"}, {key, "slow", "1"}}));
  EXPECT_THAT(store.imported_kernels(store.devices()[0].id), SizeIs(9))
      << "ranked lists of all machines are stored";
}

TEST_F(ExchangeTest, WhatAnotherMachineBlackListedIsNotProposed) {
  Store machine(theirs());
  const Filled filled = fill_store(machine);
  machine.black_list(filled.device, filled.fast.id, "hangs sometimes");
  export_all(machine);
  Store store(file());
  store.import_from(exported());
  const RowId device = store.devices()[0].id;
  EXPECT_THAT(store.imported_portfolio(device), IsEmpty());
  for (const ImportedKernel& imported : store.imported_kernels(device))
    EXPECT_EQ(imported.kernel.candidate.hash, "slow");
}

TEST_F(ExchangeTest, ImportedDataIsNotUsedAsLocal) {
  export_filled();
  Store store(file());
  DeviceProfile here = example_device();
  const RowId device = store.device_id(here);
  const std::vector<Figure> own = {
      {.name = "device.fma.f32", .unit = "gflops", .value = 5, .mad = 1, .count = 3}};
  store.add_calibration(device, own);
  store.import_from(exported());
  ASSERT_THAT(store.devices(), SizeIs(1)) << "the same device and driver are one row";
  EXPECT_EQ(store.devices()[0].profile.name, here.name) << "the local driver's name is kept";
  EXPECT_THAT(store.winners(device), IsEmpty());
  EXPECT_THAT(store.tuned_kernels(device, "1.0"), IsEmpty());
  EXPECT_THAT(store.black_listed(device), IsEmpty());
  EXPECT_THAT(store.samples(device, store.problem_id(packed_problem(37, 129, 65))), IsEmpty());
  const RowId fast = store.candidate_id(example_candidate("fast", 64));
  EXPECT_EQ(store.compiler_facts(device, fast), std::nullopt);
  EXPECT_EQ(store.certificate(device, fast, "1.0"), std::nullopt);
  ASSERT_THAT(store.latest_calibration(device), SizeIs(1))
      << "the imported calibration has two figures";
  EXPECT_EQ(store.latest_calibration(device)[0].value, 5);
  EXPECT_EQ(value(store, "SELECT group_concat(value) FROM device_report"), "5.0");
  // A machine's own facts replace imported ones, and take precedence from then on.
  store.put_compiler_facts(device, fast, {.facts = {.registers = 3}});
  EXPECT_EQ(store.compiler_facts(device, fast)->facts.registers, 3);
  store.import_from(exported());
  EXPECT_EQ(store.compiler_facts(device, fast)->facts.registers, 3);
}

TEST_F(ExchangeTest, AnUncalibratedDeviceShowsImportedCalibrations) {
  export_filled();
  Store store(file());
  store.import_from(exported());
  const RowId device = store.devices()[0].id;
  EXPECT_THAT(store.latest_calibration(device), SizeIs(2));
  EXPECT_THAT(store.latest_calibration(device, Provenance::kOwn), IsEmpty());
  EXPECT_THAT(store.calibrations(device, Provenance::kOwn, 2), IsEmpty());
}

TEST_F(ExchangeTest, FilesThatAreNoTuningDatabasesAreRefused) {
  Store store(file());
  EXPECT_EQ(error_of([&] { store.import_from(folder_ / "missing.db"); }).code(), ErrorCode::kIo);
  EXPECT_EQ(error_of([&] { store.import_from(folder_.path()); }).code(), ErrorCode::kIo);
  write_file(folder_ / "text.db",
             "my shopping list, which is longer than a header of SQLite's: "
             "bread, butter, bread, butter, bread, butter, bread, butter");
  write_file(folder_ / "empty.db", "");
  SQLite::Database(folder_ / "other.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE x (y)");
  for (const char* name : {"text.db", "empty.db", "other.db"}) {
    const std::string before = bytes_of_file(folder_ / name);
    const Error error = error_of([&] { store.import_from(folder_ / name); });
    EXPECT_EQ(error.code(), ErrorCode::kDatabase) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr("nothing of it was imported")));
    EXPECT_EQ(bytes_of_file(folder_ / name), before);
  }
}

TEST_F(ExchangeTest, ANewerFileIsRefusedWithBothVersions) {
  const int newer = kSchemaVersion + 1;
  const auto path = tampered(fmt::format("PRAGMA user_version = {}", newer));
  Store store(file());
  const Error error = error_of([&] { store.import_from(path); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(fmt::to_string(newer)), HasSubstr("update Rooftile"),
                                  HasSubstr(fmt::to_string(kSchemaVersion))));
}

TEST_F(ExchangeTest, AFileWithInvalidRowsIsRefusedAsAWhole) {
  const std::pair<const char*, const char*> cases[] = {
      {"CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
       "not part of the schema"},
      {"DROP VIEW imports; CREATE VIEW imports AS SELECT 1", "altered"},
      {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') "
       "WHERE name = 'samples'",
       "altered"},
      {"UPDATE candidates SET variant = 'family=magic' WHERE hash = 'fast'", "magic"},
      {"UPDATE candidates SET hash = '../../etc/x' WHERE hash = 'fast'", "hash"},
      {"UPDATE candidates SET signature = 'f32.xx' WHERE hash = 'fast'", "signature"},
      {"UPDATE problems SET type = 'f99' WHERE m = 37", "problem"},
      {"UPDATE problems SET m = 4611686018427387904 WHERE m = 37", "problem"},
      {"UPDATE problems SET alpha = 9e999 WHERE m = 37", "finite"},
      {"UPDATE problems SET experts = 2, groups = 1048577, stride_b = 9999 WHERE m = 37", "groups"},
      {"UPDATE problems SET experts = 2, groups = 2, largest = 38, stride_b = 9999 WHERE m = 37",
       "groups"},
      {"UPDATE problems SET experts = 9223372036854775807, groups = 2, stride_b = 9999 WHERE m = "
       "37",
       "address space"},
      {"UPDATE candidates SET signature = 'f32.grouped' WHERE hash = 'fast'", "signature"},
      {"UPDATE samples SET kernel_ns = 9e999", "longer"},
      {"UPDATE samples SET kernel_ns = -1", "CHECK|damaged"},
      {"UPDATE samples SET created_at = 'yesterday'", "time"},
      {"UPDATE runs SET created_at = '2026-01-01T00:00:00.000Z' || char(27) || '[2J'", "time"},
      {"UPDATE runs SET key = char(27) || id", "key"},
      {"UPDATE calibrations SET key = char(27) || id", "calibration"},
      {"UPDATE origins SET own = 0", "origin"},
      {"UPDATE origins SET key = char(10)", "origin"},
      {"UPDATE winners SET created_at = ''", "time"},
      {"UPDATE portfolio SET created_at = 'later'", "time"},
      {"UPDATE portfolio SET times = '[[8, 8, 8, 1, -9]]'", "portfolio"},
      {"UPDATE portfolio SET times = '[[8, 8, 8, 1, 1e18]]'", "portfolio"},
      {"UPDATE portfolio SET times = '[[8, 8, 0, 1, 9]]'", "portfolio"},
      {"UPDATE portfolio SET times = '[[8, 8, 1e300, 1, 9]]'", "portfolio"},
      {"UPDATE portfolio SET times = '[[8, 8, 18446744073709551615, 1, 9]]'", "portfolio"},
      {"UPDATE portfolio SET times = '[[8, 8, 8, 1, 9, 9]]'", "portfolio"},
      {"UPDATE portfolio SET times = '[[8, 8, 8, 1, \"9\"]]'", "portfolio"},
      {"UPDATE portfolio SET times = '{}'", "portfolio"},
      {"UPDATE portfolio SET times = '['", "portfolio|damaged"},
      {"UPDATE calibration_figures SET value = 9e999", "finite"},
      {"UPDATE counters SET value = -9e999", "finite"},
      {"UPDATE counters SET unit = 'furlongs'", "CHECK|damaged"},
      {"UPDATE counter_sets SET created_at = 'now'", "time"},
      {"UPDATE devices SET device_uuid = 'x; rm'", "identity"},
      {"PRAGMA foreign_keys = OFF; DELETE FROM problems WHERE m = 37", "do not exist"},
      {"UPDATE runs SET settings = '{'", "JSON|damaged"},
      {"UPDATE samples SET detail = hex(zeroblob(20000000)) WHERE status = 'timed out'", "."},
  };
  for (const auto& [sql, says] : cases) {
    std::filesystem::remove(theirs());
    std::filesystem::remove(exported());
    const auto path = tampered(sql);
    Store store(file());
    const auto before = store.stats().tables;
    const Error error = error_of([&] { store.import_from(path); });
    EXPECT_EQ(error.code(), ErrorCode::kDatabase) << sql << ": " << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("export.db"), ::testing::ContainsRegex(says))) << sql;
    const auto after = store.stats().tables;
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(after[i].rows, before[i].rows) << sql << ": " << before[i].table;
    EXPECT_THAT(store.check(), IsEmpty());
  }
}

TEST_F(ExchangeTest, ControlCharactersInImportedTextAreReplaced) {
  const auto path = tampered(
      "UPDATE devices SET name = 'GPU' || char(27) || '[2J' || char(155) || x'ff' || char(10);"
      "UPDATE black_list SET reason = 'a' || char(7);"
      "UPDATE samples SET detail = char(27) || ']0;x' WHERE detail <> '';"
      "UPDATE calibration_figures SET unit = char(8)");
  Store store(file());
  store.import_from(path);
  EXPECT_EQ(store.devices()[0].profile.name.substr(0, 7), "GPU?[2J");
  for (const std::string& query : {std::string("SELECT name FROM devices"),
                                   std::string("SELECT reason FROM imported_black_list"),
                                   std::string("SELECT detail FROM samples"),
                                   std::string("SELECT unit FROM calibration_figures")})
    for (const auto& row : store.query(query).rows)
      for (const char c : row[0]) EXPECT_TRUE(c < 0 || c >= ' ') << query;
}

TEST_F(ExchangeTest, AnImportedRunWithAKnownKeyAddsNoSamples) {
  Store store(file());
  const RowId run = store.begin_run(store.device_id(example_device()), "1.0", "{}");
  store.add_sample(measured(run, store.candidate_id(example_candidate("own", 16)),
                            store.problem_id(packed_problem(37, 129, 65)), 10));
  const std::string key = value(store, "SELECT key FROM runs");
  EXPECT_EQ(
      store.import_from(tampered(fmt::format("UPDATE runs SET key = '{}' WHERE id = 1", key))).runs,
      1);
  EXPECT_EQ(value(store, fmt::format("SELECT count(*) FROM samples WHERE run_id = {}", run)), "1");
  EXPECT_EQ(value(store, fmt::format("SELECT origin_id IS NULL FROM runs WHERE id = {}", run)),
            "1");
}

TEST_F(ExchangeTest, AKnownHashKeepsItsKernel) {
  Store store(file());
  store.candidate_id(example_candidate("fast", 16));  // 64 in the file
  export_filled();
  EXPECT_THAT(error_of([&] { store.import_from(exported()); }).what(), HasSubstr("hash fast"));
}

TEST_F(ExchangeTest, AForgedHashIsCorrectedByTheGenerator) {
  const auto path = tampered(
      fmt::format("UPDATE candidates SET variant = '{}', signature = 'f32.tt' WHERE hash = 'fast'",
                  to_string(example_variant(32))));
  Store store(file());
  store.import_from(path);
  const RowId row = store.candidate_id(example_candidate("fast", 64));
  EXPECT_EQ(store.candidate(row)->variant, example_variant(64));
  EXPECT_EQ(store.candidate(row)->signature, "f32.nt");
  EXPECT_EQ(value(store,
                  "SELECT json_extract(parameters, '$.tile_m') FROM candidates WHERE hash = "
                  "'fast'"),
            "64");
}

// Overwrites each page of a small file in turn. The import may refuse or accept the file; the
// importing database stays sound in both cases.
TEST_F(ExchangeTest, ADamagedImportChangesNothing) {
  export_filled();
  const std::string sound = bytes_of_file(exported());
  Store store(file());
  constexpr std::size_t kStep = 1999;
  for (std::size_t at = 0; at + 16 < sound.size(); at += kStep) {
    std::string damaged = sound;
    damaged.replace(at, 16, 16, '\xa5');
    write_file(exported(), damaged);
    try {
      store.import_from(exported());
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("export.db")) << at;
    }
  }
  EXPECT_THAT(store.check(), IsEmpty());
  write_file(exported(), sound.substr(0, sound.size() / 2));
  EXPECT_EQ(error_of([&] { store.import_from(exported()); }).code(), ErrorCode::kDatabase);
}

}  // namespace
}  // namespace rooftile
