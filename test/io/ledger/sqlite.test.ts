import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ledgerContract, type Subject } from "./contract.ts";
import { settlementContract } from "./settlement-contract.ts";

async function prepare(dataDir: string): Promise<Subject> {
  const path = join(dataDir, "ledger.db");
  return {
    url: `sqlite:${path}`,
    tamper: (sql) => {
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
    },
  };
}

ledgerContract("a ledger in SQLite", prepare);
settlementContract("settling in SQLite", prepare);
