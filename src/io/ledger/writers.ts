import { type Database, numberOf, textOf } from "./database.ts";

/** A writer's chain, as its last row leaves it. */
export interface Writer {
  readonly writer_id: string;
  readonly site_id: string | null;
  readonly seq: number;
  readonly hash: string;
}

/** All writers, in order of their names. */
export async function readWriters(database: Database): Promise<readonly Writer[]> {
  const rows = await database.all(
    "select writer_id, site_id, seq, hash from writers order by writer_id",
  );
  return rows.map((row) => ({
    writer_id: textOf(row, "writer_id"),
    site_id: row.site_id === null ? null : textOf(row, "site_id"),
    seq: numberOf(row, "seq"),
    hash: textOf(row, "hash"),
  }));
}
