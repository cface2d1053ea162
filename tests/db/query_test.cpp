// Users' SQL queries may read this file and do nothing else.
#include <gmock/gmock.h>

#include "file_bytes.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(StoreTest, QueryGivesColumnsAndTexts) {
  Store store(file());
  const Store::Table table = store.query(
      "SELECT 1 AS one, 2.5 AS \"a b\", NULL AS missing, 'x''<b>\xc3\xbc' AS text, '' AS empty");
  EXPECT_THAT(table.columns, ElementsAre("one", "a b", "missing", "text", "empty"));
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("1", "2.5", "", "x'<b>\xc3\xbc", "")));
  const Store::Table none = store.query("SELECT id, name FROM devices");
  EXPECT_THAT(none.columns, ElementsAre("id", "name"));
  EXPECT_THAT(none.rows, IsEmpty());
}

TEST_F(StoreTest, QueryMayBeLargeAndRecursiveAndExplained) {
  Store store(file());
  const char* numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i "
      "FROM n";
  EXPECT_THAT(store.query(numbers).rows, SizeIs(50000));
  EXPECT_THAT(store.query(std::string("EXPLAIN QUERY PLAN ") + numbers).rows,
              ::testing::Not(IsEmpty()));
}

TEST_F(StoreTest, QueryMayLookAtTheSchema) {
  Store store(file());
  EXPECT_THAT(store.query("PRAGMA table_info(samples)").rows, SizeIs(18));
  EXPECT_THAT(store.query("SELECT name FROM pragma_table_info('samples')").rows, SizeIs(18));
  EXPECT_EQ(store.query("PRAGMA user_version").rows[0][0], std::to_string(store.schema_version()));
  EXPECT_THAT(store.query("SELECT * FROM json_each('[1, 2]')").rows, SizeIs(2));
}

TEST_F(StoreTest, QueryTakesOneStatementWithItsComments) {
  Store store(file());
  EXPECT_THAT(store.query("-- all of them\nSELECT 1; /* that is it */ ;  ").rows, SizeIs(1));
  EXPECT_EQ(error_of([&] { store.query("SELECT 1; SELECT 2"); }).code(),
            ErrorCode::kInvalidArgument);
  for (const char* sql : {"SELECT 1; DELETE FROM devices", "SELECT 1; nonsense"})
    EXPECT_EQ(error_of([&] { store.query(sql); }).code(), ErrorCode::kDatabase) << sql;
}

TEST_F(StoreTest, InvalidQueriesAreRefused) {
  Store store(file());
  for (const char* sql : {"", "  ", "-- nothing", ";"})
    EXPECT_THAT(error_of([&] { store.query(sql); }).what(), HasSubstr("empty")) << sql;
  EXPECT_THAT(error_of([&] { store.query("SELECT nope FROM devices"); }).what(), HasSubstr("nope"));
  EXPECT_THAT(error_of([&] { store.query("SELEC 1"); }).what(), HasSubstr("syntax error"));
  EXPECT_EQ(error_of([&] { store.query(std::string("SELECT 1\0; x", 12)); }).code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(StoreTest, QueriesAreReadOnly) {
  Store store(file());
  store.device_id(example_device());
  write_file(folder_ / "other.db", "");
  const std::string other = (folder_ / "other.db").string(), made = (folder_ / "made.db").string();
  for (const std::string& sql : {std::string("DELETE FROM devices"),
                                 std::string("INSERT INTO runs DEFAULT VALUES"),
                                 std::string("DROP TABLE devices"),
                                 std::string("CREATE TABLE x (y)"),
                                 std::string("CREATE TEMP TABLE x (y)"),
                                 std::string("CREATE TEMP VIEW x AS SELECT 1"),
                                 std::string("UPDATE devices SET name = 'x' RETURNING id"),
                                 "ATTACH '" + other + "' AS o",
                                 "VACUUM INTO '" + made + "'",
                                 std::string("VACUUM"),
                                 std::string("REINDEX"),
                                 std::string("ANALYZE"),
                                 std::string("BEGIN"),
                                 std::string("BEGIN IMMEDIATE"),
                                 std::string("COMMIT"),
                                 std::string("SAVEPOINT s"),
                                 std::string("DETACH main"),
                                 std::string("PRAGMA user_version = 7"),
                                 std::string("PRAGMA application_id = 7"),
                                 std::string("PRAGMA query_only = OFF"),
                                 std::string("PRAGMA journal_mode = DELETE"),
                                 std::string("PRAGMA wal_checkpoint"),
                                 std::string("PRAGMA writable_schema = ON"),
                                 std::string("SELECT load_extension('x')"),
                                 std::string("SELECT * FROM pragma_wal_checkpoint")}) {
    EXPECT_EQ(error_of([&] { store.query(sql); }).code(), ErrorCode::kDatabase) << sql;
  }
  EXPECT_THAT(store.devices(), SizeIs(1));
  EXPECT_THAT(store.check(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(made));
  EXPECT_THAT(store.query("SELECT * FROM devices").rows, SizeIs(1))
      << "a refused query changed the connection's state";
}

TEST_F(StoreTest, QuerySeesWhatIsCommittedAndTheNewestOfIt) {
  Store store(file());
  EXPECT_EQ(store.query("SELECT count(*) FROM devices").rows[0][0], "0");
  {
    Store::Transaction transaction(store);
    store.device_id(example_device());
    EXPECT_EQ(store.query("SELECT count(*) FROM devices").rows[0][0], "0");
    transaction.commit();
  }
  EXPECT_EQ(store.query("SELECT count(*) FROM devices").rows[0][0], "1");
}

}  // namespace
}  // namespace rooftile
