-- Keyword searches for wrk, each for another word: TOKEN=$(cat DATA/token) wrk ... -s bench/server/search.lua URL
local words = {"pressure", "boundary", "layer", "wing", "shock", "heat", "transfer", "supersonic", "flow", "plate"}
local count = 0
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.headers["Content-Type"] = "application/json"

function request()
    count = count + 1
    local first, second = words[count % #words + 1], words[math.floor(count / #words) % #words + 1]
    return wrk.format(nil, nil, nil, '{"query": "' .. first .. " " .. second .. '", "mode": "keyword"}')
end
