-- Closed loop: every request is another code, sent by a customer picked at random.
-- Arguments: path, first place, number of codes, file of tokens, number of threads, seed.
local started = 0

function setup(thread)
  thread:set("id", started)
  started = started + 1
end

function init(args)
  path, place, quantity = args[1], tonumber(args[2]) + id, tonumber(args[3])
  step = tonumber(args[5])
  headers = {}
  for token in io.lines(args[4]) do
    headers[#headers + 1] = {
      ["Authorization"] = "Bearer " .. token,
      ["Content-Type"] = "application/json",
    }
  end
  math.randomseed(tonumber(args[6]) * 100 + id)
  body = '{"latitude":18.52,"longitude":73.85}'
end

function request()
  local code = string.format("B%010d", (place * 7368787) % quantity)
  place = place + step
  return wrk.format("POST", path .. code, headers[math.random(#headers)], body)
end

function done(summary, _, _)
  local errors = summary.errors
  io.write(string.format('RESULT {"requests":%d,"seconds":%f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
