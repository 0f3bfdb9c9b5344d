import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ledgerContract } from "./contract.ts";

ledgerContract("a ledger in SQLite", async (dataDir) => {
  const path = join(dataDir, "ledger.db");
  return {
    url: `sqlite:${path}`,
    tamper: (sql) => {
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
    },
  };
});
