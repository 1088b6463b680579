def test_x(mara,alice,bram,result_of):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    print([e.to_dict() for e in mara.memory.journal.read()])
    r=result_of(mara.memory.recall("ferry",speaker=mara.get_memory_identity(bram)))
    print(r)
