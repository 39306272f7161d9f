@echo off
REM Builds the installer.
setlocal enabledelayedexpansion
set VERSION=%1
if "%VERSION%"=="" (
    echo usage: build.bat VERSION
    exit /b 2
)
call :compile
call msbuild orders.sln ^
    /p:Configuration=Release ^
    /p:Version=%VERSION%
if errorlevel 1 goto failed
for %%f in (bin\*.dll) do (
    echo %%f
    copy %%f dist\
)
goto :eof

:compile
echo compiling
exit /b 0

:failed
echo the build failed
exit /b 1
