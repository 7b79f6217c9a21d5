-- Requests by outcome, in steps of five minutes.
SELECT intDiv(toUInt32(timestamp), 300) * 300 AS at, blob4 AS outcome, SUM(_sample_interval * double1) AS requests
FROM headgate
WHERE blob1 = 'decisions' AND timestamp > NOW() - INTERVAL '6' HOUR
GROUP BY at, outcome
ORDER BY at

-- The share of refused requests, by policy.
SELECT blob2 AS policy,
  SUM(if(blob4 = 'refused', _sample_interval * double1, 0)) / SUM(_sample_interval * double1) AS refused
FROM headgate
WHERE blob1 = 'decisions' AND timestamp > NOW() - INTERVAL '1' DAY
GROUP BY policy
ORDER BY refused DESC

-- Calls of the store, and their mean time.
SELECT blob2 AS place, blob4 AS outcome, SUM(_sample_interval * double1) AS calls,
  SUM(_sample_interval * double2) / SUM(_sample_interval * double1) AS seconds
FROM headgate
WHERE blob1 = 'store_calls' AND timestamp > NOW() - INTERVAL '1' DAY
GROUP BY place, outcome
