import assert from 'node:assert/strict';
import { parseRecord } from '../../sidecar/engine/journal-records';

describe('A line of a journal', () => {
  const records = [
    '["chunk",1,"stderr",2,6,1800000000000]',
    '["chunks",1,[1,2,6,0,2,2,6,-5]]',
    '["freed",1]',
    '["destroyed"]',
  ];
  for (const line of records) {
    it(`is a record: ${line}`, () => assert.deepEqual(parseRecord(line), JSON.parse(line)));
  }

  const others = [
    ...[
      '["chunk",1,"stdout",2,6]',
      '["chunk",1,"out",2,6,0]',
      '["chunk",-1,"stdout",2,6,0]',
      '["chunk",1,"stdout","2",6,0]',
    ],
    ...[
      '["chunk",1,"stdout",2,6.5,0]',
      '["chunk",1,"stdout",2,6,0,0]',
      '["chunks",1,2]',
      '["chunks",1,["2"]]',
      '["chunks","1",[]]',
    ],
    ...['["freed"]', '["freed",-1]', '["toString",1]', '[]', '{}', 'null', '["session",1,{}]', '["freed",1', ''],
  ];
  for (const line of others) {
    it(`is none: ${line}`, () => assert.equal(parseRecord(line), undefined));
  }
});
